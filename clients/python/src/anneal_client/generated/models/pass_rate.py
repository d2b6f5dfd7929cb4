from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast

T = TypeVar("T", bound="PassRate")

@_attrs_define
class PassRate:
    """ The probability that at least one of k completions passes, estimated without bias (Chen et al., arXiv 2107.03374,
    eq. 1) for each prompt and averaged over prompts.

        Attributes:
            k (int):
            mean (float):
            half_width (float): From `mean` to the bound that is further away, so that `mean` ± `half_width` holds the
                interval.
            low (float | None | Unset): The 95 % interval over prompts: Wilson's score interval, for as many yes-or-no
                prompts as the estimates are
                worth. Null in evaluations that are older than these fields.
            high (float | None | Unset):
     """

    k: int
    mean: float
    half_width: float
    low: float | None | Unset = UNSET
    high: float | None | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        k = self.k

        mean = self.mean

        half_width = self.half_width

        low: float | None | Unset
        if isinstance(self.low, Unset):
            low = UNSET
        else:
            low = self.low

        high: float | None | Unset
        if isinstance(self.high, Unset):
            high = UNSET
        else:
            high = self.high

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "k": k,
            "mean": mean,
            "half_width": half_width,
        })
        if low is not UNSET:
            field_dict["low"] = low
        if high is not UNSET:
            field_dict["high"] = high

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        k = d.pop("k")

        mean = d.pop("mean")

        half_width = d.pop("half_width")

        def _parse_low(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        low = _parse_low(d.pop("low", UNSET))

        def _parse_high(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        high = _parse_high(d.pop("high", UNSET))

        pass_rate = cls(
            k=k,
            mean=mean,
            half_width=half_width,
            low=low,
            high=high,
        )

        pass_rate.additional_properties = d
        return pass_rate

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
