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
  from ..models.evaluation_completion import EvaluationCompletion

T = TypeVar("T", bound="EvaluationPrompt")

@_attrs_define
class EvaluationPrompt:
    """ What became of one prompt's completions. Those that the verifier could not judge are not counted.

        Attributes:
            object_ (Literal['evaluation.prompt']):
            number (int): 1, 2, 3, ... within the evaluation.
            row (int): Number of the row in its data set, counted from 0.
            row_sha256 (str): Of the row's columns, hexadecimal.
            prompt (str): The first 1000 characters of the prompt as the verifier saw it.
            samples (int): Completions with a verdict.
            passed (int): Completions that pass: with a reward of at least 0.5.
            unparsable (int): Completions that held nothing to judge; their reward counts.
            tokens (int): Tokens of the completions.
            truncated (int): Completions cut at the length limit.
            reward_mean (float | None | Unset): Null where no completion has a verdict.
            completions (list[EvaluationCompletion] | None | Unset): The first 16 completions with a verdict; null behind
                the first 256 MiB of an evaluation, and of evaluations that were
                made before completions were kept.
     """

    object_: Literal['evaluation.prompt']
    number: int
    row: int
    row_sha256: str
    prompt: str
    samples: int
    passed: int
    unparsable: int
    tokens: int
    truncated: int
    reward_mean: float | None | Unset = UNSET
    completions: list[EvaluationCompletion] | None | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.evaluation_completion import EvaluationCompletion # noqa: PLC0415
        object_ = self.object_

        number = self.number

        row = self.row

        row_sha256 = self.row_sha256

        prompt = self.prompt

        samples = self.samples

        passed = self.passed

        unparsable = self.unparsable

        tokens = self.tokens

        truncated = self.truncated

        reward_mean: float | None | Unset
        if isinstance(self.reward_mean, Unset):
            reward_mean = UNSET
        else:
            reward_mean = self.reward_mean

        completions: list[dict[str, Any]] | None | Unset
        if isinstance(self.completions, Unset):
            completions = UNSET
        elif isinstance(self.completions, list):
            completions = []
            for completions_type_0_item_data in self.completions:
                completions_type_0_item = completions_type_0_item_data.to_dict()
                completions.append(completions_type_0_item)

        else:
            completions = self.completions

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "object": object_,
            "number": number,
            "row": row,
            "row_sha256": row_sha256,
            "prompt": prompt,
            "samples": samples,
            "passed": passed,
            "unparsable": unparsable,
            "tokens": tokens,
            "truncated": truncated,
        })
        if reward_mean is not UNSET:
            field_dict["reward_mean"] = reward_mean
        if completions is not UNSET:
            field_dict["completions"] = completions

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.evaluation_completion import EvaluationCompletion # noqa: PLC0415
        d = dict(src_dict)
        object_ = cast(Literal['evaluation.prompt'] , d.pop("object"))
        if object_ != 'evaluation.prompt':
            raise ValueError(f"object must match const 'evaluation.prompt', got '{object_}'")

        number = d.pop("number")

        row = d.pop("row")

        row_sha256 = d.pop("row_sha256")

        prompt = d.pop("prompt")

        samples = d.pop("samples")

        passed = d.pop("passed")

        unparsable = d.pop("unparsable")

        tokens = d.pop("tokens")

        truncated = d.pop("truncated")

        def _parse_reward_mean(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        reward_mean = _parse_reward_mean(d.pop("reward_mean", UNSET))

        def _parse_completions(data: object) -> list[EvaluationCompletion] | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                completions_type_0 = []
                _completions_type_0 = data
                for completions_type_0_item_data in (_completions_type_0):
                    completions_type_0_item = EvaluationCompletion.from_dict(completions_type_0_item_data)

                    completions_type_0.append(completions_type_0_item)

                return completions_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[EvaluationCompletion] | None | Unset, data)

        completions = _parse_completions(d.pop("completions", UNSET))

        evaluation_prompt = cls(
            object_=object_,
            number=number,
            row=row,
            row_sha256=row_sha256,
            prompt=prompt,
            samples=samples,
            passed=passed,
            unparsable=unparsable,
            tokens=tokens,
            truncated=truncated,
            reward_mean=reward_mean,
            completions=completions,
        )

        evaluation_prompt.additional_properties = d
        return evaluation_prompt

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
