from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="LeakedRow")

@_attrs_define
class LeakedRow:
    """ A held-out row, and the first row with it in it.

        Attributes:
            row (int):
            train_row (int):
            overlap (float): Share of the held-out row's runs of words that stand in any row that is trained on.
     """

    row: int
    train_row: int
    overlap: float
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        row = self.row

        train_row = self.train_row

        overlap = self.overlap

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "row": row,
            "train_row": train_row,
            "overlap": overlap,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        row = d.pop("row")

        train_row = d.pop("train_row")

        overlap = d.pop("overlap")

        leaked_row = cls(
            row=row,
            train_row=train_row,
            overlap=overlap,
        )

        leaked_row.additional_properties = d
        return leaked_row

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
