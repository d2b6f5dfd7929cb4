from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="WorkerRegistration")

@_attrs_define
class WorkerRegistration:
    """ A process that tends a device.

        Attributes:
            id (str): `wrk_` and 32 hexadecimal digits, made up by the agent.
            device (str): The device's name, which begins with that of its machine.
            pid (int): Its number on its machine.
     """

    id: str
    device: str
    pid: int

    def to_dict(self) -> dict[str, Any]:
        id = self.id

        device = self.device

        pid = self.pid

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "id": id,
            "device": device,
            "pid": pid,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        id = d.pop("id")

        device = d.pop("device")

        pid = d.pop("pid")

        worker_registration = cls(
            id=id,
            device=device,
            pid=pid,
        )

        return worker_registration
