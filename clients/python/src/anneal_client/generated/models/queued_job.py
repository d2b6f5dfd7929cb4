from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast

if TYPE_CHECKING:
  from ..models.job_waiting import JobWaiting

T = TypeVar("T", bound="QueuedJob")

@_attrs_define
class QueuedJob:
    """ A waiting job.

        Attributes:
            position (int): 1 is next.
            job (str):
            priority (int):
            created_at (int): Unix seconds.
            waiting (JobWaiting): Why a job waits, and for what.
            name (None | str | Unset):
     """

    position: int
    job: str
    priority: int
    created_at: int
    waiting: JobWaiting
    name: None | str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.job_waiting import JobWaiting # noqa: PLC0415
        position = self.position

        job = self.job

        priority = self.priority

        created_at = self.created_at

        waiting = self.waiting.to_dict()

        name: None | str | Unset
        if isinstance(self.name, Unset):
            name = UNSET
        else:
            name = self.name

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "position": position,
            "job": job,
            "priority": priority,
            "created_at": created_at,
            "waiting": waiting,
        })
        if name is not UNSET:
            field_dict["name"] = name

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.job_waiting import JobWaiting # noqa: PLC0415
        d = dict(src_dict)
        position = d.pop("position")

        job = d.pop("job")

        priority = d.pop("priority")

        created_at = d.pop("created_at")

        waiting = JobWaiting.from_dict(d.pop("waiting"))

        def _parse_name(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        name = _parse_name(d.pop("name", UNSET))

        queued_job = cls(
            position=position,
            job=job,
            priority=priority,
            created_at=created_at,
            waiting=waiting,
            name=name,
        )

        queued_job.additional_properties = d
        return queued_job

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
