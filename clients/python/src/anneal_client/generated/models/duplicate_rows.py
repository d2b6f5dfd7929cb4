from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from typing import cast

T = TypeVar("T", bound="DuplicateRows")

@_attrs_define
class DuplicateRows:
    """ Rows with the same prompt.

        Attributes:
            rows (int): Rows that repeat an earlier one.
            prompts (int): Prompts that several rows have.
            conflicts (int): Of these, prompts with different answers.
            groups (list[list[int]]): The first groups, each with its first ten rows.
     """

    rows: int
    prompts: int
    conflicts: int
    groups: list[list[int]]
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        rows = self.rows

        prompts = self.prompts

        conflicts = self.conflicts

        groups = []
        for groups_item_data in self.groups:
            groups_item = groups_item_data

            groups.append(groups_item)

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "rows": rows,
            "prompts": prompts,
            "conflicts": conflicts,
            "groups": groups,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        rows = d.pop("rows")

        prompts = d.pop("prompts")

        conflicts = d.pop("conflicts")

        groups = []
        _groups = d.pop("groups")
        for groups_item_data in (_groups):
            groups_item = cast(list[int], groups_item_data)

            groups.append(groups_item)

        duplicate_rows = cls(
            rows=rows,
            prompts=prompts,
            conflicts=conflicts,
            groups=groups,
        )

        duplicate_rows.additional_properties = d
        return duplicate_rows

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
