from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="CreateDirectPart")

@_attrs_define
class CreateDirectPart:
    """ The part that is going to be sent.

        Attributes:
            bytes_ (int): Of the part.
     """

    bytes_: int

    def to_dict(self) -> dict[str, Any]:
        bytes_ = self.bytes_

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "bytes": bytes_,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        bytes_ = d.pop("bytes")

        create_direct_part = cls(
            bytes_=bytes_,
        )

        return create_direct_part
