from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast

T = TypeVar("T", bound="CompareEvaluations")

@_attrs_define
class CompareEvaluations:
    """ Which evaluations to compare.

        Attributes:
            baseline (str): The evaluation to compare with, for example that of the model in use.
            candidate (str): The evaluation of the model that might take its place.
            k (int | Unset): Compares pass@k; no more than the samples of either evaluation. Default: 1.
            confidence (float | Unset): Of the interval; at least 0.5 and at most 0.999. Default: 0.95.
            min_improvement (float | None | Unset): The gate: by how much the candidate must be better with that confidence,
                between 0 and 1.
     """

    baseline: str
    candidate: str
    k: int | Unset = 1
    confidence: float | Unset = 0.95
    min_improvement: float | None | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        baseline = self.baseline

        candidate = self.candidate

        k = self.k

        confidence = self.confidence

        min_improvement: float | None | Unset
        if isinstance(self.min_improvement, Unset):
            min_improvement = UNSET
        else:
            min_improvement = self.min_improvement

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "baseline": baseline,
            "candidate": candidate,
        })
        if k is not UNSET:
            field_dict["k"] = k
        if confidence is not UNSET:
            field_dict["confidence"] = confidence
        if min_improvement is not UNSET:
            field_dict["min_improvement"] = min_improvement

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        baseline = d.pop("baseline")

        candidate = d.pop("candidate")

        k = d.pop("k", UNSET)

        confidence = d.pop("confidence", UNSET)

        def _parse_min_improvement(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        min_improvement = _parse_min_improvement(d.pop("min_improvement", UNSET))

        compare_evaluations = cls(
            baseline=baseline,
            candidate=candidate,
            k=k,
            confidence=confidence,
            min_improvement=min_improvement,
        )

        return compare_evaluations
