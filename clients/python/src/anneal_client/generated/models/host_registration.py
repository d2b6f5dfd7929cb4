from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast

if TYPE_CHECKING:
  from ..models.device_reading import DeviceReading

T = TypeVar("T", bound="HostRegistration")

@_attrs_define
class HostRegistration:
    """ A machine that begins, or begins again, to work for a server.

        Attributes:
            protocol (int): The number of the protocol that the agent speaks: 1.
            name (str): The machine's name, with which the names of its devices begin: small letters, digits, `-`, `.` and
                `_`.
            identity (str): What tells this agent from others of the same name, for as long as it keeps its folder; at least
                16 characters.
            version (str): Of the agent's program.
            devices (list[DeviceReading]): All devices that take jobs.
            pool (None | str | Unset): What its operator calls machines like it.
     """

    protocol: int
    name: str
    identity: str
    version: str
    devices: list[DeviceReading]
    pool: None | str | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        from ..models.device_reading import DeviceReading # noqa: PLC0415
        protocol = self.protocol

        name = self.name

        identity = self.identity

        version = self.version

        devices = []
        for devices_item_data in self.devices:
            devices_item = devices_item_data.to_dict()
            devices.append(devices_item)

        pool: None | str | Unset
        if isinstance(self.pool, Unset):
            pool = UNSET
        else:
            pool = self.pool

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "protocol": protocol,
            "name": name,
            "identity": identity,
            "version": version,
            "devices": devices,
        })
        if pool is not UNSET:
            field_dict["pool"] = pool

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.device_reading import DeviceReading # noqa: PLC0415
        d = dict(src_dict)
        protocol = d.pop("protocol")

        name = d.pop("name")

        identity = d.pop("identity")

        version = d.pop("version")

        devices = []
        _devices = d.pop("devices")
        for devices_item_data in (_devices):
            devices_item = DeviceReading.from_dict(devices_item_data)

            devices.append(devices_item)

        def _parse_pool(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        pool = _parse_pool(d.pop("pool", UNSET))

        host_registration = cls(
            protocol=protocol,
            name=name,
            identity=identity,
            version=version,
            devices=devices,
            pool=pool,
        )

        return host_registration
