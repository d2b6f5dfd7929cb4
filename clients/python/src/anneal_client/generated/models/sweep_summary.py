from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast

if TYPE_CHECKING:
  from ..models.sweep_summary_values import SweepSummaryValues

T = TypeVar("T", bound="SweepSummary")

@_attrs_define
class SweepSummary:
    """ A configuration over its seeds.

        Attributes:
            name (str):
            seeds (int):
            values (SweepSummaryValues): By seed; of a configuration that was given up there are none, whether or not a
                trial of it had come to its end.
            mean (float | None | Unset): Null without values.
            half_width (float | None | Unset): The interval reaches so far below and above the mean (Student's t); null for
                fewer than two seeds, and where all have
                the same value, which says nothing of how far off others would be.
            dropped_at (int | None | Unset): The step after which it was given up, of a sweep that does.
     """

    name: str
    seeds: int
    values: SweepSummaryValues
    mean: float | None | Unset = UNSET
    half_width: float | None | Unset = UNSET
    dropped_at: int | None | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.sweep_summary_values import SweepSummaryValues # noqa: PLC0415
        name = self.name

        seeds = self.seeds

        values = self.values.to_dict()

        mean: float | None | Unset
        if isinstance(self.mean, Unset):
            mean = UNSET
        else:
            mean = self.mean

        half_width: float | None | Unset
        if isinstance(self.half_width, Unset):
            half_width = UNSET
        else:
            half_width = self.half_width

        dropped_at: int | None | Unset
        if isinstance(self.dropped_at, Unset):
            dropped_at = UNSET
        else:
            dropped_at = self.dropped_at

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "name": name,
            "seeds": seeds,
            "values": values,
        })
        if mean is not UNSET:
            field_dict["mean"] = mean
        if half_width is not UNSET:
            field_dict["half_width"] = half_width
        if dropped_at is not UNSET:
            field_dict["dropped_at"] = dropped_at

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.sweep_summary_values import SweepSummaryValues # noqa: PLC0415
        d = dict(src_dict)
        name = d.pop("name")

        seeds = d.pop("seeds")

        values = SweepSummaryValues.from_dict(d.pop("values"))

        def _parse_mean(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        mean = _parse_mean(d.pop("mean", UNSET))

        def _parse_half_width(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        half_width = _parse_half_width(d.pop("half_width", UNSET))

        def _parse_dropped_at(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        dropped_at = _parse_dropped_at(d.pop("dropped_at", UNSET))

        sweep_summary = cls(
            name=name,
            seeds=seeds,
            values=values,
            mean=mean,
            half_width=half_width,
            dropped_at=dropped_at,
        )

        sweep_summary.additional_properties = d
        return sweep_summary

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
