from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset

T = TypeVar("T", bound="PushExport")

@_attrs_define
class PushExport:
    """ Where an export is to be pushed.

        Attributes:
            to (str): `hf:owner/name`, with `@branch` where it is not `main`. The repository and the branch are made if they
                are not
                there.
            private (bool | Unset): Make a repository that is not there private, and refuse one that is public. Default:
                True.
     """

    to: str
    private: bool | Unset = True

    def to_dict(self) -> dict[str, Any]:
        to = self.to

        private = self.private

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "to": to,
        })
        if private is not UNSET:
            field_dict["private"] = private

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        to = d.pop("to")

        private = d.pop("private", UNSET)

        push_export = cls(
            to=to,
            private=private,
        )

        return push_export
