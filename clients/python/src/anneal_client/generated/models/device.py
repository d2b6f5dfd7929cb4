from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..models.device_status import DeviceStatus
from ..types import UNSET, Unset
from typing import cast
from typing import Literal, cast

if TYPE_CHECKING:
  from ..models.device_process import DeviceProcess

T = TypeVar("T", bound="Device")

@_attrs_define
class Device:
    """ A device that this server uses.

        Attributes:
            id (str): `cpu`, `cuda:0`, `simulated:0`, ...
            object_ (Literal['device']):
            description (str): The model.
            index (int):
            memory_total (int): Bytes.
            memory_free (int): Bytes that a new job could take, when the device was last looked at.
            processes (list[DeviceProcess]): Programs that compute on it.
            status (DeviceStatus): Whether a device takes jobs.
            jobs (list[str]): The jobs that hold it, but those of other projects; several where they share the weights of
                their model.
            faults (int): How often it has failed since it was first used here.
            changed_at (int): Unix seconds at which the status last changed.
            seen_at (int): Unix seconds at which the device was last looked at.
            uuid (None | str | Unset): What the driver knows a GPU by.
            compute_capability (None | str | Unset): Of a GPU.
            driver_version (None | str | Unset):
            job (None | str | Unset): The first of them, or the job that it is reserved for; null where that is another
                project's.
            fault (None | str | Unset): Why it takes no jobs.
            faulted_at (int | None | Unset): Unix seconds.
            worker (None | str | Unset): The worker process that tends it; null while none does.
            pid (int | None | Unset):
            started_at (int | None | Unset): Unix seconds at which the worker began.
     """

    id: str
    object_: Literal['device']
    description: str
    index: int
    memory_total: int
    memory_free: int
    processes: list[DeviceProcess]
    status: DeviceStatus
    jobs: list[str]
    faults: int
    changed_at: int
    seen_at: int
    uuid: None | str | Unset = UNSET
    compute_capability: None | str | Unset = UNSET
    driver_version: None | str | Unset = UNSET
    job: None | str | Unset = UNSET
    fault: None | str | Unset = UNSET
    faulted_at: int | None | Unset = UNSET
    worker: None | str | Unset = UNSET
    pid: int | None | Unset = UNSET
    started_at: int | None | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.device_process import DeviceProcess # noqa: PLC0415
        id = self.id

        object_ = self.object_

        description = self.description

        index = self.index

        memory_total = self.memory_total

        memory_free = self.memory_free

        processes = []
        for processes_item_data in self.processes:
            processes_item = processes_item_data.to_dict()
            processes.append(processes_item)

        status = self.status.value

        jobs = self.jobs

        faults = self.faults

        changed_at = self.changed_at

        seen_at = self.seen_at

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

        job: None | str | Unset
        if isinstance(self.job, Unset):
            job = UNSET
        else:
            job = self.job

        fault: None | str | Unset
        if isinstance(self.fault, Unset):
            fault = UNSET
        else:
            fault = self.fault

        faulted_at: int | None | Unset
        if isinstance(self.faulted_at, Unset):
            faulted_at = UNSET
        else:
            faulted_at = self.faulted_at

        worker: None | str | Unset
        if isinstance(self.worker, Unset):
            worker = UNSET
        else:
            worker = self.worker

        pid: int | None | Unset
        if isinstance(self.pid, Unset):
            pid = UNSET
        else:
            pid = self.pid

        started_at: int | None | Unset
        if isinstance(self.started_at, Unset):
            started_at = UNSET
        else:
            started_at = self.started_at

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "id": id,
            "object": object_,
            "description": description,
            "index": index,
            "memory_total": memory_total,
            "memory_free": memory_free,
            "processes": processes,
            "status": status,
            "jobs": jobs,
            "faults": faults,
            "changed_at": changed_at,
            "seen_at": seen_at,
        })
        if uuid is not UNSET:
            field_dict["uuid"] = uuid
        if compute_capability is not UNSET:
            field_dict["compute_capability"] = compute_capability
        if driver_version is not UNSET:
            field_dict["driver_version"] = driver_version
        if job is not UNSET:
            field_dict["job"] = job
        if fault is not UNSET:
            field_dict["fault"] = fault
        if faulted_at is not UNSET:
            field_dict["faulted_at"] = faulted_at
        if worker is not UNSET:
            field_dict["worker"] = worker
        if pid is not UNSET:
            field_dict["pid"] = pid
        if started_at is not UNSET:
            field_dict["started_at"] = started_at

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.device_process import DeviceProcess # noqa: PLC0415
        d = dict(src_dict)
        id = d.pop("id")

        object_ = cast(Literal['device'] , d.pop("object"))
        if object_ != 'device':
            raise ValueError(f"object must match const 'device', got '{object_}'")

        description = d.pop("description")

        index = d.pop("index")

        memory_total = d.pop("memory_total")

        memory_free = d.pop("memory_free")

        processes = []
        _processes = d.pop("processes")
        for processes_item_data in (_processes):
            processes_item = DeviceProcess.from_dict(processes_item_data)

            processes.append(processes_item)

        status = DeviceStatus(d.pop("status"))

        jobs = cast(list[str], d.pop("jobs"))

        faults = d.pop("faults")

        changed_at = d.pop("changed_at")

        seen_at = d.pop("seen_at")

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

        def _parse_job(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        job = _parse_job(d.pop("job", UNSET))

        def _parse_fault(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        fault = _parse_fault(d.pop("fault", UNSET))

        def _parse_faulted_at(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        faulted_at = _parse_faulted_at(d.pop("faulted_at", UNSET))

        def _parse_worker(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        worker = _parse_worker(d.pop("worker", UNSET))

        def _parse_pid(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        pid = _parse_pid(d.pop("pid", UNSET))

        def _parse_started_at(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        started_at = _parse_started_at(d.pop("started_at", UNSET))

        device = cls(
            id=id,
            object_=object_,
            description=description,
            index=index,
            memory_total=memory_total,
            memory_free=memory_free,
            processes=processes,
            status=status,
            jobs=jobs,
            faults=faults,
            changed_at=changed_at,
            seen_at=seen_at,
            uuid=uuid,
            compute_capability=compute_capability,
            driver_version=driver_version,
            job=job,
            fault=fault,
            faulted_at=faulted_at,
            worker=worker,
            pid=pid,
            started_at=started_at,
        )

        device.additional_properties = d
        return device

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
