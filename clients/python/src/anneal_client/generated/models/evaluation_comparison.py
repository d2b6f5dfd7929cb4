from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..models.verdict import Verdict
from ..types import UNSET, Unset
from typing import cast
from typing import Literal, cast

if TYPE_CHECKING:
  from ..models.flips import Flips
  from ..models.gate import Gate

T = TypeVar("T", bound="EvaluationComparison")

@_attrs_define
class EvaluationComparison:
    """ How a candidate does against a baseline.

        Attributes:
            object_ (Literal['evaluation.comparison']):
            baseline (str):
            candidate (str):
            k (int):
            confidence (float):
            verdict (Verdict):
            difference (float): Mean of candidate - baseline over the prompts.
            standard_error (float): Of the difference.
            low (float): The interval of the difference.
            high (float):
            baseline_mean (float): pass@k of each over the compared prompts.
            candidate_mean (float):
            prompts (int): Prompts that were compared.
            differing (int): Prompts whose pass@k is not the same.
            left_out (int): Prompts for which either has fewer than k completions with a verdict.
            flips (Flips): Prompts that one of two evaluations solves, with at least half of the completions, and the other
                does not. Their
                completions are those of `GET /v1/evaluations/{id}/results?differs_from=...` of either.
            differences (list[str]): What else is not the same in the two evaluations, as JSON pointers into their specs.
            gate (Gate | None | Unset): The answer to `min_improvement`; null without one.
     """

    object_: Literal['evaluation.comparison']
    baseline: str
    candidate: str
    k: int
    confidence: float
    verdict: Verdict
    difference: float
    standard_error: float
    low: float
    high: float
    baseline_mean: float
    candidate_mean: float
    prompts: int
    differing: int
    left_out: int
    flips: Flips
    differences: list[str]
    gate: Gate | None | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.flips import Flips # noqa: PLC0415
        from ..models.gate import Gate # noqa: PLC0415
        object_ = self.object_

        baseline = self.baseline

        candidate = self.candidate

        k = self.k

        confidence = self.confidence

        verdict = self.verdict.value

        difference = self.difference

        standard_error = self.standard_error

        low = self.low

        high = self.high

        baseline_mean = self.baseline_mean

        candidate_mean = self.candidate_mean

        prompts = self.prompts

        differing = self.differing

        left_out = self.left_out

        flips = self.flips.to_dict()

        differences = self.differences

        gate: dict[str, Any] | None | Unset
        if isinstance(self.gate, Unset):
            gate = UNSET
        elif isinstance(self.gate, Gate):
            gate = self.gate.to_dict()
        else:
            gate = self.gate

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "object": object_,
            "baseline": baseline,
            "candidate": candidate,
            "k": k,
            "confidence": confidence,
            "verdict": verdict,
            "difference": difference,
            "standard_error": standard_error,
            "low": low,
            "high": high,
            "baseline_mean": baseline_mean,
            "candidate_mean": candidate_mean,
            "prompts": prompts,
            "differing": differing,
            "left_out": left_out,
            "flips": flips,
            "differences": differences,
        })
        if gate is not UNSET:
            field_dict["gate"] = gate

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.flips import Flips # noqa: PLC0415
        from ..models.gate import Gate # noqa: PLC0415
        d = dict(src_dict)
        object_ = cast(Literal['evaluation.comparison'] , d.pop("object"))
        if object_ != 'evaluation.comparison':
            raise ValueError(f"object must match const 'evaluation.comparison', got '{object_}'")

        baseline = d.pop("baseline")

        candidate = d.pop("candidate")

        k = d.pop("k")

        confidence = d.pop("confidence")

        verdict = Verdict(d.pop("verdict"))

        difference = d.pop("difference")

        standard_error = d.pop("standard_error")

        low = d.pop("low")

        high = d.pop("high")

        baseline_mean = d.pop("baseline_mean")

        candidate_mean = d.pop("candidate_mean")

        prompts = d.pop("prompts")

        differing = d.pop("differing")

        left_out = d.pop("left_out")

        flips = Flips.from_dict(d.pop("flips"))

        differences = cast(list[str], d.pop("differences"))

        def _parse_gate(data: object) -> Gate | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                gate_type_0 = Gate.from_dict(data)

                return gate_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(Gate | None | Unset, data)

        gate = _parse_gate(d.pop("gate", UNSET))

        evaluation_comparison = cls(
            object_=object_,
            baseline=baseline,
            candidate=candidate,
            k=k,
            confidence=confidence,
            verdict=verdict,
            difference=difference,
            standard_error=standard_error,
            low=low,
            high=high,
            baseline_mean=baseline_mean,
            candidate_mean=candidate_mean,
            prompts=prompts,
            differing=differing,
            left_out=left_out,
            flips=flips,
            differences=differences,
            gate=gate,
        )

        evaluation_comparison.additional_properties = d
        return evaluation_comparison

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
