from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from typing import Literal, cast

T = TypeVar("T", bound="ExpiresAfter")

@_attrs_define
class ExpiresAfter:
    """
        Attributes:
            anchor (Literal['created_at']):
            seconds (int): From an hour to 30 days.
     """

    anchor: Literal['created_at']
    seconds: int

    def to_dict(self) -> dict[str, Any]:
        anchor = self.anchor

        seconds = self.seconds

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "anchor": anchor,
            "seconds": seconds,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        anchor = cast(Literal['created_at'] , d.pop("anchor"))
        if anchor != 'created_at':
            raise ValueError(f"anchor must match const 'created_at', got '{anchor}'")

        seconds = d.pop("seconds")

        expires_after = cls(
            anchor=anchor,
            seconds=seconds,
        )

        return expires_after
