from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast

T = TypeVar("T", bound="DeviceProcess")

@_attrs_define
class DeviceProcess:
    """ A program that computes on a device.

        Attributes:
            pid (int):
            ours (bool): Started by this server.
            memory_used (int | None | Unset): Bytes of the device's memory; null where the driver does not say.
     """

    pid: int
    ours: bool
    memory_used: int | None | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        pid = self.pid

        ours = self.ours

        memory_used: int | None | Unset
        if isinstance(self.memory_used, Unset):
            memory_used = UNSET
        else:
            memory_used = self.memory_used

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "pid": pid,
            "ours": ours,
        })
        if memory_used is not UNSET:
            field_dict["memory_used"] = memory_used

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        pid = d.pop("pid")

        ours = d.pop("ours")

        def _parse_memory_used(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        memory_used = _parse_memory_used(d.pop("memory_used", UNSET))

        device_process = cls(
            pid=pid,
            ours=ours,
            memory_used=memory_used,
        )

        device_process.additional_properties = d
        return device_process

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
