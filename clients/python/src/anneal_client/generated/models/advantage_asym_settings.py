from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="AdvantageAsymSettings")

@_attrs_define
class AdvantageAsymSettings:
    """
        Attributes:
            delta (float):
     """

    delta: float

    def to_dict(self) -> dict[str, Any]:
        delta = self.delta

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "delta": delta,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        delta = d.pop("delta")

        advantage_asym_settings = cls(
            delta=delta,
        )

        return advantage_asym_settings
