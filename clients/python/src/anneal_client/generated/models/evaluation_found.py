from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast

if TYPE_CHECKING:
  from ..models.pass_rate import PassRate

T = TypeVar("T", bound="EvaluationFound")

@_attrs_define
class EvaluationFound:
    """ What an evaluation found. Members that may be missing are told by evaluation jobs alone.

        Attributes:
            prompts (int):
            samples (int): Completions per prompt.
            pass_at (list[PassRate]):
            reward_mean (float): Mean reward of all completions.
            tokens_mean (float): Mean completion length in tokens.
            truncated (float): Share of completions cut at the length limit.
            step (int): Optimizer steps that the evaluated policy has taken.
            completions (int | Unset): Completions with a verdict.
            unscored (int | Unset): Completions that the verifier could not judge; they are in no other number.
            passed (int | Unset): Completions that pass: with a reward of at least 0.5.
            unparsable (int | Unset): Completions that held nothing to judge; their reward counts.
            majority (None | PassRate | Unset): maj@k for k = `samples`: the share of prompts whose most frequent answer
                passes, with its 95 % interval.
            majority_at (list[PassRate] | Unset): maj@k for each k of `pass_at`, each prompt's over k of its completions
                that are drawn at random, 1000 times.
            distinct_answers (float | None | Unset): Distinct answers as a share of the completions.
            rows_digest (str | Unset): `sha256:` and the digest of the digests of all rows: evaluations of the same rows
                have the same.
     """

    prompts: int
    samples: int
    pass_at: list[PassRate]
    reward_mean: float
    tokens_mean: float
    truncated: float
    step: int
    completions: int | Unset = UNSET
    unscored: int | Unset = UNSET
    passed: int | Unset = UNSET
    unparsable: int | Unset = UNSET
    majority: None | PassRate | Unset = UNSET
    majority_at: list[PassRate] | Unset = UNSET
    distinct_answers: float | None | Unset = UNSET
    rows_digest: str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.pass_rate import PassRate # noqa: PLC0415
        prompts = self.prompts

        samples = self.samples

        pass_at = []
        for pass_at_item_data in self.pass_at:
            pass_at_item = pass_at_item_data.to_dict()
            pass_at.append(pass_at_item)

        reward_mean = self.reward_mean

        tokens_mean = self.tokens_mean

        truncated = self.truncated

        step = self.step

        completions = self.completions

        unscored = self.unscored

        passed = self.passed

        unparsable = self.unparsable

        majority: dict[str, Any] | None | Unset
        if isinstance(self.majority, Unset):
            majority = UNSET
        elif isinstance(self.majority, PassRate):
            majority = self.majority.to_dict()
        else:
            majority = self.majority

        majority_at: list[dict[str, Any]] | Unset = UNSET
        if not isinstance(self.majority_at, Unset):
            majority_at = []
            for majority_at_item_data in self.majority_at:
                majority_at_item = majority_at_item_data.to_dict()
                majority_at.append(majority_at_item)

        distinct_answers: float | None | Unset
        if isinstance(self.distinct_answers, Unset):
            distinct_answers = UNSET
        else:
            distinct_answers = self.distinct_answers

        rows_digest = self.rows_digest

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "prompts": prompts,
            "samples": samples,
            "pass_at": pass_at,
            "reward_mean": reward_mean,
            "tokens_mean": tokens_mean,
            "truncated": truncated,
            "step": step,
        })
        if completions is not UNSET:
            field_dict["completions"] = completions
        if unscored is not UNSET:
            field_dict["unscored"] = unscored
        if passed is not UNSET:
            field_dict["passed"] = passed
        if unparsable is not UNSET:
            field_dict["unparsable"] = unparsable
        if majority is not UNSET:
            field_dict["majority"] = majority
        if majority_at is not UNSET:
            field_dict["majority_at"] = majority_at
        if distinct_answers is not UNSET:
            field_dict["distinct_answers"] = distinct_answers
        if rows_digest is not UNSET:
            field_dict["rows_digest"] = rows_digest

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.pass_rate import PassRate # noqa: PLC0415
        d = dict(src_dict)
        prompts = d.pop("prompts")

        samples = d.pop("samples")

        pass_at = []
        _pass_at = d.pop("pass_at")
        for pass_at_item_data in (_pass_at):
            pass_at_item = PassRate.from_dict(pass_at_item_data)

            pass_at.append(pass_at_item)

        reward_mean = d.pop("reward_mean")

        tokens_mean = d.pop("tokens_mean")

        truncated = d.pop("truncated")

        step = d.pop("step")

        completions = d.pop("completions", UNSET)

        unscored = d.pop("unscored", UNSET)

        passed = d.pop("passed", UNSET)

        unparsable = d.pop("unparsable", UNSET)

        def _parse_majority(data: object) -> None | PassRate | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                majority_type_0 = PassRate.from_dict(data)

                return majority_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | PassRate | Unset, data)

        majority = _parse_majority(d.pop("majority", UNSET))

        _majority_at = d.pop("majority_at", UNSET)
        majority_at: list[PassRate] | Unset = UNSET
        if _majority_at is not UNSET:
            majority_at = []
            for majority_at_item_data in _majority_at:
                majority_at_item = PassRate.from_dict(majority_at_item_data)

                majority_at.append(majority_at_item)

        def _parse_distinct_answers(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        distinct_answers = _parse_distinct_answers(d.pop("distinct_answers", UNSET))

        rows_digest = d.pop("rows_digest", UNSET)

        evaluation_found = cls(
            prompts=prompts,
            samples=samples,
            pass_at=pass_at,
            reward_mean=reward_mean,
            tokens_mean=tokens_mean,
            truncated=truncated,
            step=step,
            completions=completions,
            unscored=unscored,
            passed=passed,
            unparsable=unparsable,
            majority=majority,
            majority_at=majority_at,
            distinct_answers=distinct_answers,
            rows_digest=rows_digest,
        )

        evaluation_found.additional_properties = d
        return evaluation_found

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
