from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast

T = TypeVar("T", bound="ForkDifference")

@_attrs_define
class ForkDifference:
    """ A mean over prompts.

        Attributes:
            prompts (int):
            mean (float):
            half_width (float | None | Unset): Of the interval of Student's t that holds together with those of all other
                forks with a chance of 95 %.
            detectable (float | None | Unset): The least difference that these prompts would have told from none, with a
                chance of 80 %.
     """

    prompts: int
    mean: float
    half_width: float | None | Unset = UNSET
    detectable: float | None | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        prompts = self.prompts

        mean = self.mean

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
            "prompts": prompts,
            "mean": mean,
        })
        if half_width is not UNSET:
            field_dict["half_width"] = half_width
        if detectable is not UNSET:
            field_dict["detectable"] = detectable

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        prompts = d.pop("prompts")

        mean = d.pop("mean")

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

        fork_difference = cls(
            prompts=prompts,
            mean=mean,
            half_width=half_width,
            detectable=detectable,
        )

        fork_difference.additional_properties = d
        return fork_difference

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
