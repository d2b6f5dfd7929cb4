from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="ReportedWarning")

@_attrs_define
class ReportedWarning:
    """ A warning or an error of the log.

        Attributes:
            seq (int): The event's number.
            level (str): `warning` or `error`.
            created_at (str): RFC 3339.
            message (str):
     """

    seq: int
    level: str
    created_at: str
    message: str
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        seq = self.seq

        level = self.level

        created_at = self.created_at

        message = self.message

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "seq": seq,
            "level": level,
            "created_at": created_at,
            "message": message,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        seq = d.pop("seq")

        level = d.pop("level")

        created_at = d.pop("created_at")

        message = d.pop("message")

        reported_warning = cls(
            seq=seq,
            level=level,
            created_at=created_at,
            message=message,
        )

        reported_warning.additional_properties = d
        return reported_warning

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
