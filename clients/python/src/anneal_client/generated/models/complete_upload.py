from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast

T = TypeVar("T", bound="CompleteUpload")

@_attrs_define
class CompleteUpload:
    """ The parts in their order.

        Attributes:
            part_ids (list[str]):
            md5 (None | str | Unset): The MD5 of the whole file in hexadecimal; if given, another one refuses the file.
     """

    part_ids: list[str]
    md5: None | str | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        part_ids = self.part_ids

        md5: None | str | Unset
        if isinstance(self.md5, Unset):
            md5 = UNSET
        else:
            md5 = self.md5

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "part_ids": part_ids,
        })
        if md5 is not UNSET:
            field_dict["md5"] = md5

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        part_ids = cast(list[str], d.pop("part_ids"))

        def _parse_md5(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        md5 = _parse_md5(d.pop("md5", UNSET))

        complete_upload = cls(
            part_ids=part_ids,
            md5=md5,
        )

        return complete_upload
