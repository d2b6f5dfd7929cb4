from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from typing import cast

if TYPE_CHECKING:
  from ..models.duplicate_rows import DuplicateRows

T = TypeVar("T", bound="DuplicatesFound")

@_attrs_define
class DuplicatesFound:
    """ Prompts that come again. Of a version that is checked against its own held-out part these are of both parts.

        Attributes:
            exact (DuplicateRows): Rows with the same prompt.
            normalised (DuplicateRows): Rows with the same prompt.
     """

    exact: DuplicateRows
    normalised: DuplicateRows
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.duplicate_rows import DuplicateRows # noqa: PLC0415
        exact = self.exact.to_dict()

        normalised = self.normalised.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "exact": exact,
            "normalised": normalised,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.duplicate_rows import DuplicateRows # noqa: PLC0415
        d = dict(src_dict)
        exact = DuplicateRows.from_dict(d.pop("exact"))

        normalised = DuplicateRows.from_dict(d.pop("normalised"))

        duplicates_found = cls(
            exact=exact,
            normalised=normalised,
        )

        duplicates_found.additional_properties = d
        return duplicates_found

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
