from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from typing import cast

if TYPE_CHECKING:
  from ..models.bucket import Bucket

T = TypeVar("T", bound="Histogram")

@_attrs_define
class Histogram:
    """ Numbers of tokens.

        Attributes:
            min_ (int):
            mean (float):
            median (int):
            p90 (int): Of 100 rows 90 have no more.
            p99 (int):
            max_ (int):
            buckets (list[Bucket]): By powers of two, from the shortest to the longest.
     """

    min_: int
    mean: float
    median: int
    p90: int
    p99: int
    max_: int
    buckets: list[Bucket]
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.bucket import Bucket # noqa: PLC0415
        min_ = self.min_

        mean = self.mean

        median = self.median

        p90 = self.p90

        p99 = self.p99

        max_ = self.max_

        buckets = []
        for buckets_item_data in self.buckets:
            buckets_item = buckets_item_data.to_dict()
            buckets.append(buckets_item)

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "min": min_,
            "mean": mean,
            "median": median,
            "p90": p90,
            "p99": p99,
            "max": max_,
            "buckets": buckets,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.bucket import Bucket # noqa: PLC0415
        d = dict(src_dict)
        min_ = d.pop("min")

        mean = d.pop("mean")

        median = d.pop("median")

        p90 = d.pop("p90")

        p99 = d.pop("p99")

        max_ = d.pop("max")

        buckets = []
        _buckets = d.pop("buckets")
        for buckets_item_data in (_buckets):
            buckets_item = Bucket.from_dict(buckets_item_data)

            buckets.append(buckets_item)

        histogram = cls(
            min_=min_,
            mean=mean,
            median=median,
            p90=p90,
            p99=p99,
            max_=max_,
            buckets=buckets,
        )

        histogram.additional_properties = d
        return histogram

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
