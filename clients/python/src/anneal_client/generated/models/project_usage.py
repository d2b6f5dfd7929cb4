from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="ProjectUsage")

@_attrs_define
class ProjectUsage:
    """ What a project uses at the moment.

        Attributes:
            unfinished_jobs (int):
            devices (int):
            storage_bytes (int):
     """

    unfinished_jobs: int
    devices: int
    storage_bytes: int
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        unfinished_jobs = self.unfinished_jobs

        devices = self.devices

        storage_bytes = self.storage_bytes

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "unfinished_jobs": unfinished_jobs,
            "devices": devices,
            "storage_bytes": storage_bytes,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        unfinished_jobs = d.pop("unfinished_jobs")

        devices = d.pop("devices")

        storage_bytes = d.pop("storage_bytes")

        project_usage = cls(
            unfinished_jobs=unfinished_jobs,
            devices=devices,
            storage_bytes=storage_bytes,
        )

        project_usage.additional_properties = d
        return project_usage

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
