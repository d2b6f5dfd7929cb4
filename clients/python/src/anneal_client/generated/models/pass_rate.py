from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="PassRate")

@_attrs_define
class PassRate:
    """ The probability that at least one of k completions passes, estimated without bias (Chen et al., arXiv 2107.03374,
    eq. 1) for each prompt and averaged over prompts.

        Attributes:
            k (int):
            mean (float):
            half_width (float): `mean - half_width` to `mean + half_width` is the 95 % interval over prompts (normal
                approximation).
     """

    k: int
    mean: float
    half_width: float
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        k = self.k

        mean = self.mean

        half_width = self.half_width

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "k": k,
            "mean": mean,
            "half_width": half_width,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        k = d.pop("k")

        mean = d.pop("mean")

        half_width = d.pop("half_width")

        pass_rate = cls(
            k=k,
            mean=mean,
            half_width=half_width,
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
