from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from typing import cast

if TYPE_CHECKING:
  from ..models.leaked_row import LeakedRow

T = TypeVar("T", bound="LeakedRows")

@_attrs_define
class LeakedRows:
    """ Held-out rows that were found.

        Attributes:
            rows (int):
            listed (list[LeakedRow]):
     """

    rows: int
    listed: list[LeakedRow]
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.leaked_row import LeakedRow # noqa: PLC0415
        rows = self.rows

        listed = []
        for listed_item_data in self.listed:
            listed_item = listed_item_data.to_dict()
            listed.append(listed_item)

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "rows": rows,
            "listed": listed,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.leaked_row import LeakedRow # noqa: PLC0415
        d = dict(src_dict)
        rows = d.pop("rows")

        listed = []
        _listed = d.pop("listed")
        for listed_item_data in (_listed):
            listed_item = LeakedRow.from_dict(listed_item_data)

            listed.append(listed_item)

        leaked_rows = cls(
            rows=rows,
            listed=listed,
        )

        leaked_rows.additional_properties = d
        return leaked_rows

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
