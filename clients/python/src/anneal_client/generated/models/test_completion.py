from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast

if TYPE_CHECKING:
  from ..models.json_object import JsonObject

T = TypeVar("T", bound="TestCompletion")

@_attrs_define
class TestCompletion:
    """
        Attributes:
            completion (str):
            row (JsonObject | Unset): Any JSON object.
     """

    completion: str
    row: JsonObject | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        from ..models.json_object import JsonObject # noqa: PLC0415
        completion = self.completion

        row: dict[str, Any] | Unset = UNSET
        if not isinstance(self.row, Unset):
            row = self.row.to_dict()

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "completion": completion,
        })
        if row is not UNSET:
            field_dict["row"] = row

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.json_object import JsonObject # noqa: PLC0415
        d = dict(src_dict)
        completion = d.pop("completion")

        _row = d.pop("row", UNSET)
        row: JsonObject | Unset
        if isinstance(_row,  Unset):
            row = UNSET
        else:
            row = JsonObject.from_dict(_row)

        test_completion = cls(
            completion=completion,
            row=row,
        )

        return test_completion
