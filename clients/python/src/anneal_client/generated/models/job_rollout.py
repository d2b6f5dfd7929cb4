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

T = TypeVar("T", bound="JobRollout")

@_attrs_define
class JobRollout:
    """ One sampled and scored completion of a job.

        Attributes:
            object_ (Literal['job.rollout']):
            id (str): Its place in the listing.
            group (str): The same for all completions that were sampled together for a prompt.
            step (int): Optimizer steps that the sampling policy had taken.
            row (int): Number of the row in its data set, counted from 0.
            sample (int): Number of the completion among those for its prompt.
            prompt (str):
            completion (str):
            spread (float): The highest reward of the completions for its prompt less the lowest.
            length (int): Number of tokens, those of an environment among them.
            tokens (list[int]): Empty with `light`, as `logprobs` is.
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
            verify_seconds (float | None | Unset): How long the verdict took; null without a verifier, and in a finished
                rollout set, whose `verify_seconds.json` has it.
            pieces (list[str] | None | Unset): The text of each token; null where all completions are kept, which the
                model's tokenizer tells of.
            entropies (list[float] | None | Unset): Entropy at each token, in nats; null where all completions are kept.
            reference_logprobs (list[float] | None | Unset): Log-probability of each token under the model that the job
                started from; null where it was not computed.
            trained_step (int | None | Unset): The last step, counted from 1, that trained on it; null before there was one,
                or where all completions are kept.
            credit (list[float] | None | Unset): What that step credited each token with.
            policy_logprobs (list[float] | None | Unset): Log-probability of each token under the policy before that step.
     """

    object_: Literal['job.rollout']
    id: str
    group: str
    step: int
    row: int
    sample: int
    prompt: str
    completion: str
    spread: float
    length: int
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
    verify_seconds: float | None | Unset = UNSET
    pieces: list[str] | None | Unset = UNSET
    entropies: list[float] | None | Unset = UNSET
    reference_logprobs: list[float] | None | Unset = UNSET
    trained_step: int | None | Unset = UNSET
    credit: list[float] | None | Unset = UNSET
    policy_logprobs: list[float] | None | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.rollout_answer import RolloutAnswer # noqa: PLC0415
        from ..models.rollout_part import RolloutPart # noqa: PLC0415
        object_ = self.object_

        id = self.id

        group = self.group

        step = self.step

        row = self.row

        sample = self.sample

        prompt = self.prompt

        completion = self.completion

        spread = self.spread

        length = self.length

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

        verify_seconds: float | None | Unset
        if isinstance(self.verify_seconds, Unset):
            verify_seconds = UNSET
        else:
            verify_seconds = self.verify_seconds

        pieces: list[str] | None | Unset
        if isinstance(self.pieces, Unset):
            pieces = UNSET
        elif isinstance(self.pieces, list):
            pieces = self.pieces

        else:
            pieces = self.pieces

        entropies: list[float] | None | Unset
        if isinstance(self.entropies, Unset):
            entropies = UNSET
        elif isinstance(self.entropies, list):
            entropies = self.entropies

        else:
            entropies = self.entropies

        reference_logprobs: list[float] | None | Unset
        if isinstance(self.reference_logprobs, Unset):
            reference_logprobs = UNSET
        elif isinstance(self.reference_logprobs, list):
            reference_logprobs = self.reference_logprobs

        else:
            reference_logprobs = self.reference_logprobs

        trained_step: int | None | Unset
        if isinstance(self.trained_step, Unset):
            trained_step = UNSET
        else:
            trained_step = self.trained_step

        credit: list[float] | None | Unset
        if isinstance(self.credit, Unset):
            credit = UNSET
        elif isinstance(self.credit, list):
            credit = self.credit

        else:
            credit = self.credit

        policy_logprobs: list[float] | None | Unset
        if isinstance(self.policy_logprobs, Unset):
            policy_logprobs = UNSET
        elif isinstance(self.policy_logprobs, list):
            policy_logprobs = self.policy_logprobs

        else:
            policy_logprobs = self.policy_logprobs

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "object": object_,
            "id": id,
            "group": group,
            "step": step,
            "row": row,
            "sample": sample,
            "prompt": prompt,
            "completion": completion,
            "spread": spread,
            "length": length,
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
        if verify_seconds is not UNSET:
            field_dict["verify_seconds"] = verify_seconds
        if pieces is not UNSET:
            field_dict["pieces"] = pieces
        if entropies is not UNSET:
            field_dict["entropies"] = entropies
        if reference_logprobs is not UNSET:
            field_dict["reference_logprobs"] = reference_logprobs
        if trained_step is not UNSET:
            field_dict["trained_step"] = trained_step
        if credit is not UNSET:
            field_dict["credit"] = credit
        if policy_logprobs is not UNSET:
            field_dict["policy_logprobs"] = policy_logprobs

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.rollout_answer import RolloutAnswer # noqa: PLC0415
        from ..models.rollout_part import RolloutPart # noqa: PLC0415
        d = dict(src_dict)
        object_ = cast(Literal['job.rollout'] , d.pop("object"))
        if object_ != 'job.rollout':
            raise ValueError(f"object must match const 'job.rollout', got '{object_}'")

        id = d.pop("id")

        group = d.pop("group")

        step = d.pop("step")

        row = d.pop("row")

        sample = d.pop("sample")

        prompt = d.pop("prompt")

        completion = d.pop("completion")

        spread = d.pop("spread")

        length = d.pop("length")

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

        def _parse_verify_seconds(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        verify_seconds = _parse_verify_seconds(d.pop("verify_seconds", UNSET))

        def _parse_pieces(data: object) -> list[str] | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                pieces_type_0 = cast(list[str], data)

                return pieces_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[str] | None | Unset, data)

        pieces = _parse_pieces(d.pop("pieces", UNSET))

        def _parse_entropies(data: object) -> list[float] | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                entropies_type_0 = cast(list[float], data)

                return entropies_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[float] | None | Unset, data)

        entropies = _parse_entropies(d.pop("entropies", UNSET))

        def _parse_reference_logprobs(data: object) -> list[float] | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                reference_logprobs_type_0 = cast(list[float], data)

                return reference_logprobs_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[float] | None | Unset, data)

        reference_logprobs = _parse_reference_logprobs(d.pop("reference_logprobs", UNSET))

        def _parse_trained_step(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        trained_step = _parse_trained_step(d.pop("trained_step", UNSET))

        def _parse_credit(data: object) -> list[float] | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                credit_type_0 = cast(list[float], data)

                return credit_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[float] | None | Unset, data)

        credit = _parse_credit(d.pop("credit", UNSET))

        def _parse_policy_logprobs(data: object) -> list[float] | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                policy_logprobs_type_0 = cast(list[float], data)

                return policy_logprobs_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[float] | None | Unset, data)

        policy_logprobs = _parse_policy_logprobs(d.pop("policy_logprobs", UNSET))

        job_rollout = cls(
            object_=object_,
            id=id,
            group=group,
            step=step,
            row=row,
            sample=sample,
            prompt=prompt,
            completion=completion,
            spread=spread,
            length=length,
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
            verify_seconds=verify_seconds,
            pieces=pieces,
            entropies=entropies,
            reference_logprobs=reference_logprobs,
            trained_step=trained_step,
            credit=credit,
            policy_logprobs=policy_logprobs,
        )

        job_rollout.additional_properties = d
        return job_rollout

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
