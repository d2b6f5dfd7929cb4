from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast

if TYPE_CHECKING:
  from ..models.row_error import RowError

T = TypeVar("T", bound="PreviewedRow")

@_attrs_define
class PreviewedRow:
    """ A row as it came and as it would be stored.

        Attributes:
            row (int): Its number in the file, counted from 1.
            source (Any): As it came.
            mapped (Any | Unset): As it would be stored; null where it cannot be made.
            error (None | RowError | Unset): Why it would be refused.
     """

    row: int
    source: Any
    mapped: Any | Unset = UNSET
    error: None | RowError | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.row_error import RowError # noqa: PLC0415
        row = self.row

        source = self.source

        mapped = self.mapped

        error: dict[str, Any] | None | Unset
        if isinstance(self.error, Unset):
            error = UNSET
        elif isinstance(self.error, RowError):
            error = self.error.to_dict()
        else:
            error = self.error

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "row": row,
            "source": source,
        })
        if mapped is not UNSET:
            field_dict["mapped"] = mapped
        if error is not UNSET:
            field_dict["error"] = error

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.row_error import RowError # noqa: PLC0415
        d = dict(src_dict)
        row = d.pop("row")

        source = d.pop("source")

        mapped = d.pop("mapped", UNSET)

        def _parse_error(data: object) -> None | RowError | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                error_type_0 = RowError.from_dict(data)

                return error_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | RowError | Unset, data)

        error = _parse_error(d.pop("error", UNSET))

        previewed_row = cls(
            row=row,
            source=source,
            mapped=mapped,
            error=error,
        )

        previewed_row.additional_properties = d
        return previewed_row

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
