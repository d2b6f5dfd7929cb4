from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="AdvantageFocalSettings")

@_attrs_define
class AdvantageFocalSettings:
    """
        Attributes:
            alpha (float):
            delta (float):
     """

    alpha: float
    delta: float

    def to_dict(self) -> dict[str, Any]:
        alpha = self.alpha

        delta = self.delta

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "alpha": alpha,
            "delta": delta,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        alpha = d.pop("alpha")

        delta = d.pop("delta")

        advantage_focal_settings = cls(
            alpha=alpha,
            delta=delta,
        )

        return advantage_focal_settings
