from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast

if TYPE_CHECKING:
  from ..models.device_process import DeviceProcess

T = TypeVar("T", bound="DeviceReading")

@_attrs_define
class DeviceReading:
    """ What one look at a device found.

        Attributes:
            name (str): `cpu`, `cuda:N` or `simulated:N`, behind the host as [`name_on`] has it.
            number (int): The N of the name; 0 for the CPU.
            description (str): The model, for people.
            memory_total (int):
            memory_free (int): Bytes that a new job could take; what our own idle worker holds counts as free.
            processes (list[DeviceProcess]):
            uuid (None | str | Unset): What the driver knows a GPU by.
            compute_capability (None | str | Unset): Of a GPU: `9.0`.
            driver_version (None | str | Unset):
            fault (None | str | Unset): Why it cannot be used, as the device itself reports it.
     """

    name: str
    number: int
    description: str
    memory_total: int
    memory_free: int
    processes: list[DeviceProcess]
    uuid: None | str | Unset = UNSET
    compute_capability: None | str | Unset = UNSET
    driver_version: None | str | Unset = UNSET
    fault: None | str | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        from ..models.device_process import DeviceProcess # noqa: PLC0415
        name = self.name

        number = self.number

        description = self.description

        memory_total = self.memory_total

        memory_free = self.memory_free

        processes = []
        for processes_item_data in self.processes:
            processes_item = processes_item_data.to_dict()
            processes.append(processes_item)

        uuid: None | str | Unset
        if isinstance(self.uuid, Unset):
            uuid = UNSET
        else:
            uuid = self.uuid

        compute_capability: None | str | Unset
        if isinstance(self.compute_capability, Unset):
            compute_capability = UNSET
        else:
            compute_capability = self.compute_capability

        driver_version: None | str | Unset
        if isinstance(self.driver_version, Unset):
            driver_version = UNSET
        else:
            driver_version = self.driver_version

        fault: None | str | Unset
        if isinstance(self.fault, Unset):
            fault = UNSET
        else:
            fault = self.fault

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "name": name,
            "number": number,
            "description": description,
            "memory_total": memory_total,
            "memory_free": memory_free,
            "processes": processes,
        })
        if uuid is not UNSET:
            field_dict["uuid"] = uuid
        if compute_capability is not UNSET:
            field_dict["compute_capability"] = compute_capability
        if driver_version is not UNSET:
            field_dict["driver_version"] = driver_version
        if fault is not UNSET:
            field_dict["fault"] = fault

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.device_process import DeviceProcess # noqa: PLC0415
        d = dict(src_dict)
        name = d.pop("name")

        number = d.pop("number")

        description = d.pop("description")

        memory_total = d.pop("memory_total")

        memory_free = d.pop("memory_free")

        processes = []
        _processes = d.pop("processes")
        for processes_item_data in (_processes):
            processes_item = DeviceProcess.from_dict(processes_item_data)

            processes.append(processes_item)

        def _parse_uuid(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        uuid = _parse_uuid(d.pop("uuid", UNSET))

        def _parse_compute_capability(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        compute_capability = _parse_compute_capability(d.pop("compute_capability", UNSET))

        def _parse_driver_version(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        driver_version = _parse_driver_version(d.pop("driver_version", UNSET))

        def _parse_fault(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        fault = _parse_fault(d.pop("fault", UNSET))

        device_reading = cls(
            name=name,
            number=number,
            description=description,
            memory_total=memory_total,
            memory_free=memory_free,
            processes=processes,
            uuid=uuid,
            compute_capability=compute_capability,
            driver_version=driver_version,
            fault=fault,
        )

        return device_reading
