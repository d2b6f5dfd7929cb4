from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast
from typing import Literal, cast

if TYPE_CHECKING:
  from ..models.rollout_answer import RolloutAnswer
  from ..models.rollout_part import RolloutPart

T = TypeVar("T", bound="Rollout")

@_attrs_define
class Rollout:
    """ One sampled and scored completion.

        Attributes:
            object_ (Literal['rollout']):
            line (int): Its line in `rollouts.jsonl`, counted from 1.
            group (int): Number of the completion's group, which has one prompt, within the set.
            sample (int): Number of the completion within its group.
            row (int): Number of the row in its data set.
            step (int): Optimizer steps that the sampling policy had taken.
            prompt (str):
            prompt_tokens (list[int]):
            completion (str):
            tokens (list[int]):
            logprobs (list[float]): Log-probability of each token under the distribution it was drawn from.
            entropy_sum (float): Entropy of the model's distribution at temperature 1, in nats, summed over the tokens.
            finish (str): `stop` or `length`.
            parts (list[RolloutPart]): The verdicts that it is made of, such as those of the members of a `multi` verifier.
            answers (list[RolloutAnswer]): What an environment answered between its turns; empty without
                `sampling.environment`.
            answer (None | str | Unset): What the verifier compared; null where it took nothing out of the completion.
            status (None | str | Unset): `ok` or `unparsable`; null without a verifier.
            reward (float | None | Unset): Null without a verifier.
            detail (None | str | Unset): The reason of the verdict in a sentence, where the verifier gave one.
     """

    object_: Literal['rollout']
    line: int
    group: int
    sample: int
    row: int
    step: int
    prompt: str
    prompt_tokens: list[int]
    completion: str
    tokens: list[int]
    logprobs: list[float]
    entropy_sum: float
    finish: str
    parts: list[RolloutPart]
    answers: list[RolloutAnswer]
    answer: None | str | Unset = UNSET
    status: None | str | Unset = UNSET
    reward: float | None | Unset = UNSET
    detail: None | str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.rollout_answer import RolloutAnswer # noqa: PLC0415
        from ..models.rollout_part import RolloutPart # noqa: PLC0415
        object_ = self.object_

        line = self.line

        group = self.group

        sample = self.sample

        row = self.row

        step = self.step

        prompt = self.prompt

        prompt_tokens = self.prompt_tokens

        completion = self.completion

        tokens = self.tokens

        logprobs = self.logprobs

        entropy_sum = self.entropy_sum

        finish = self.finish

        parts = []
        for parts_item_data in self.parts:
            parts_item = parts_item_data.to_dict()
            parts.append(parts_item)

        answers = []
        for answers_item_data in self.answers:
            answers_item = answers_item_data.to_dict()
            answers.append(answers_item)

        answer: None | str | Unset
        if isinstance(self.answer, Unset):
            answer = UNSET
        else:
            answer = self.answer

        status: None | str | Unset
        if isinstance(self.status, Unset):
            status = UNSET
        else:
            status = self.status

        reward: float | None | Unset
        if isinstance(self.reward, Unset):
            reward = UNSET
        else:
            reward = self.reward

        detail: None | str | Unset
        if isinstance(self.detail, Unset):
            detail = UNSET
        else:
            detail = self.detail

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "object": object_,
            "line": line,
            "group": group,
            "sample": sample,
            "row": row,
            "step": step,
            "prompt": prompt,
            "prompt_tokens": prompt_tokens,
            "completion": completion,
            "tokens": tokens,
            "logprobs": logprobs,
            "entropy_sum": entropy_sum,
            "finish": finish,
            "parts": parts,
            "answers": answers,
        })
        if answer is not UNSET:
            field_dict["answer"] = answer
        if status is not UNSET:
            field_dict["status"] = status
        if reward is not UNSET:
            field_dict["reward"] = reward
        if detail is not UNSET:
            field_dict["detail"] = detail

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.rollout_answer import RolloutAnswer # noqa: PLC0415
        from ..models.rollout_part import RolloutPart # noqa: PLC0415
        d = dict(src_dict)
        object_ = cast(Literal['rollout'] , d.pop("object"))
        if object_ != 'rollout':
            raise ValueError(f"object must match const 'rollout', got '{object_}'")

        line = d.pop("line")

        group = d.pop("group")

        sample = d.pop("sample")

        row = d.pop("row")

        step = d.pop("step")

        prompt = d.pop("prompt")

        prompt_tokens = cast(list[int], d.pop("prompt_tokens"))

        completion = d.pop("completion")

        tokens = cast(list[int], d.pop("tokens"))

        logprobs = cast(list[float], d.pop("logprobs"))

        entropy_sum = d.pop("entropy_sum")

        finish = d.pop("finish")

        parts = []
        _parts = d.pop("parts")
        for parts_item_data in (_parts):
            parts_item = RolloutPart.from_dict(parts_item_data)

            parts.append(parts_item)

        answers = []
        _answers = d.pop("answers")
        for answers_item_data in (_answers):
            answers_item = RolloutAnswer.from_dict(answers_item_data)

            answers.append(answers_item)

        def _parse_answer(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        answer = _parse_answer(d.pop("answer", UNSET))

        def _parse_status(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        status = _parse_status(d.pop("status", UNSET))

        def _parse_reward(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        reward = _parse_reward(d.pop("reward", UNSET))

        def _parse_detail(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        detail = _parse_detail(d.pop("detail", UNSET))

        rollout = cls(
            object_=object_,
            line=line,
            group=group,
            sample=sample,
            row=row,
            step=step,
            prompt=prompt,
            prompt_tokens=prompt_tokens,
            completion=completion,
            tokens=tokens,
            logprobs=logprobs,
            entropy_sum=entropy_sum,
            finish=finish,
            parts=parts,
            answers=answers,
            answer=answer,
            status=status,
            reward=reward,
            detail=detail,
        )

        rollout.additional_properties = d
        return rollout

    @property
    def additional_keys(self) -> list[str]:
        return list(self.additional_properties.keys())

    def __getitem__(self, key: str) -> Any:
        return self.additional_properties[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self.additional_properties[key] = value

    def __delitem__(self, key: str) -> None:
        del self.additional_properties[key]

    def __contains__(self, key: str) -> bool:
        return key in self.additional_properties
