from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from typing import cast
from typing import Literal, cast

if TYPE_CHECKING:
  from ..models.json_object import JsonObject

T = TypeVar("T", bound="DatasetRow")

@_attrs_define
class DatasetRow:
    """ One row.

        Attributes:
            object_ (Literal['dataset.row']):
            row (int): Its number, counted from 0: the `row` of completions and of evaluated prompts.
            columns (JsonObject): Any JSON object.
     """

    object_: Literal['dataset.row']
    row: int
    columns: JsonObject
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.json_object import JsonObject # noqa: PLC0415
        object_ = self.object_

        row = self.row

        columns = self.columns.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "object": object_,
            "row": row,
            "columns": columns,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.json_object import JsonObject # noqa: PLC0415
        d = dict(src_dict)
        object_ = cast(Literal['dataset.row'] , d.pop("object"))
        if object_ != 'dataset.row':
            raise ValueError(f"object must match const 'dataset.row', got '{object_}'")

        row = d.pop("row")

        columns = JsonObject.from_dict(d.pop("columns"))

        dataset_row = cls(
            object_=object_,
            row=row,
            columns=columns,
        )

        dataset_row.additional_properties = d
        return dataset_row

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
