from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="AdvantagePassAtKSettings")

@_attrs_define
class AdvantagePassAtKSettings:
    """
        Attributes:
            k (int):
     """

    k: int

    def to_dict(self) -> dict[str, Any]:
        k = self.k

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "k": k,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        k = d.pop("k")

        advantage_pass_at_k_settings = cls(
            k=k,
        )

        return advantage_pass_at_k_settings
