from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast

T = TypeVar("T", bound="StreamOptions")

@_attrs_define
class StreamOptions:
    """ What a stream holds besides the text.

        Attributes:
            include_usage (bool | Unset): A last chunk before `[DONE]` has the tokens of the whole request and no choices.
            include_obfuscation (bool | None | Unset): Chunks are never padded.
     """

    include_usage: bool | Unset = UNSET
    include_obfuscation: bool | None | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        include_usage = self.include_usage

        include_obfuscation: bool | None | Unset
        if isinstance(self.include_obfuscation, Unset):
            include_obfuscation = UNSET
        else:
            include_obfuscation = self.include_obfuscation

        field_dict: dict[str, Any] = {}

        field_dict.update({
        })
        if include_usage is not UNSET:
            field_dict["include_usage"] = include_usage
        if include_obfuscation is not UNSET:
            field_dict["include_obfuscation"] = include_obfuscation

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        include_usage = d.pop("include_usage", UNSET)

        def _parse_include_obfuscation(data: object) -> bool | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(bool | None | Unset, data)

        include_obfuscation = _parse_include_obfuscation(d.pop("include_obfuscation", UNSET))

        stream_options = cls(
            include_usage=include_usage,
            include_obfuscation=include_obfuscation,
        )

        return stream_options
