from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..models.device_status import DeviceStatus
from ..types import UNSET, Unset
from typing import cast

T = TypeVar("T", bound="CandidateDevice")

@_attrs_define
class CandidateDevice:
    """ A device as a waiting job sees it.

        Attributes:
            device (str):
            status (DeviceStatus): Whether a device takes jobs.
            jobs (list[str]): The jobs that hold it, but those of other projects.
            memory_total (int):
            memory_free (int):
            job (None | str | Unset): The first of them; null where there is none.
            free_at (int | None | Unset): Unix seconds at which its jobs will probably have ended.
     """

    device: str
    status: DeviceStatus
    jobs: list[str]
    memory_total: int
    memory_free: int
    job: None | str | Unset = UNSET
    free_at: int | None | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        device = self.device

        status = self.status.value

        jobs = self.jobs

        memory_total = self.memory_total

        memory_free = self.memory_free

        job: None | str | Unset
        if isinstance(self.job, Unset):
            job = UNSET
        else:
            job = self.job

        free_at: int | None | Unset
        if isinstance(self.free_at, Unset):
            free_at = UNSET
        else:
            free_at = self.free_at

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "device": device,
            "status": status,
            "jobs": jobs,
            "memory_total": memory_total,
            "memory_free": memory_free,
        })
        if job is not UNSET:
            field_dict["job"] = job
        if free_at is not UNSET:
            field_dict["free_at"] = free_at

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        device = d.pop("device")

        status = DeviceStatus(d.pop("status"))

        jobs = cast(list[str], d.pop("jobs"))

        memory_total = d.pop("memory_total")

        memory_free = d.pop("memory_free")

        def _parse_job(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        job = _parse_job(d.pop("job", UNSET))

        def _parse_free_at(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        free_at = _parse_free_at(d.pop("free_at", UNSET))

        candidate_device = cls(
            device=device,
            status=status,
            jobs=jobs,
            memory_total=memory_total,
            memory_free=memory_free,
            job=job,
            free_at=free_at,
        )

        candidate_device.additional_properties = d
        return candidate_device

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
