from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast

T = TypeVar("T", bound="SweepComparison")

@_attrs_define
class SweepComparison:
    """ A configuration against the baseline, seed by seed.

        Attributes:
            configuration (int): By their places in `configurations`.
            baseline (int):
            pairs (int): Seeds that both have.
            difference (float):
            verdict (str): `higher` or `lower` than the baseline where the interval says so, else `undecided`.
            half_width (float | None | Unset): Of Student's t, corrected for the number of comparisons (Bonferroni); null
                for fewer than two pairs, and where all
                pairs differ by the same.
            detectable (float | None | Unset): The least true difference that would be found, by the spread that was
                measured.
     """

    configuration: int
    baseline: int
    pairs: int
    difference: float
    verdict: str
    half_width: float | None | Unset = UNSET
    detectable: float | None | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        configuration = self.configuration

        baseline = self.baseline

        pairs = self.pairs

        difference = self.difference

        verdict = self.verdict

        half_width: float | None | Unset
        if isinstance(self.half_width, Unset):
            half_width = UNSET
        else:
            half_width = self.half_width

        detectable: float | None | Unset
        if isinstance(self.detectable, Unset):
            detectable = UNSET
        else:
            detectable = self.detectable

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "configuration": configuration,
            "baseline": baseline,
            "pairs": pairs,
            "difference": difference,
            "verdict": verdict,
        })
        if half_width is not UNSET:
            field_dict["half_width"] = half_width
        if detectable is not UNSET:
            field_dict["detectable"] = detectable

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        configuration = d.pop("configuration")

        baseline = d.pop("baseline")

        pairs = d.pop("pairs")

        difference = d.pop("difference")

        verdict = d.pop("verdict")

        def _parse_half_width(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        half_width = _parse_half_width(d.pop("half_width", UNSET))

        def _parse_detectable(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        detectable = _parse_detectable(d.pop("detectable", UNSET))

        sweep_comparison = cls(
            configuration=configuration,
            baseline=baseline,
            pairs=pairs,
            difference=difference,
            verdict=verdict,
            half_width=half_width,
            detectable=detectable,
        )

        sweep_comparison.additional_properties = d
        return sweep_comparison

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
