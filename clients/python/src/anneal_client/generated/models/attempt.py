from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast
from typing import Literal, cast

T = TypeVar("T", bound="Attempt")

@_attrs_define
class Attempt:
    """ One run of a worker at a job.

        Attributes:
            id (str): The job and the number; for `after`.
            object_ (Literal['attempt']):
            job (str):
            number (int): 1, 2, 3, ... within the job.
            worker (str): The worker process that led it.
            devices (list[str]): The devices that it held, the leading one first.
            started_at (int): Unix seconds.
            first_step (int): Optimizer steps that had been taken when it began.
            device_seconds (float): Seconds times devices; while it runs, as far as its worker has told.
            ended_at (int | None | Unset): Unix seconds; null while it runs.
            outcome (None | str | Unset): `succeeded`, `failed`, `cancelled`, `paused`, `drained` (its worker had to go) or
                `lost` (its worker or device
                died); null while it runs.
     """

    id: str
    object_: Literal['attempt']
    job: str
    number: int
    worker: str
    devices: list[str]
    started_at: int
    first_step: int
    device_seconds: float
    ended_at: int | None | Unset = UNSET
    outcome: None | str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = self.id

        object_ = self.object_

        job = self.job

        number = self.number

        worker = self.worker

        devices = self.devices

        started_at = self.started_at

        first_step = self.first_step

        device_seconds = self.device_seconds

        ended_at: int | None | Unset
        if isinstance(self.ended_at, Unset):
            ended_at = UNSET
        else:
            ended_at = self.ended_at

        outcome: None | str | Unset
        if isinstance(self.outcome, Unset):
            outcome = UNSET
        else:
            outcome = self.outcome

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "id": id,
            "object": object_,
            "job": job,
            "number": number,
            "worker": worker,
            "devices": devices,
            "started_at": started_at,
            "first_step": first_step,
            "device_seconds": device_seconds,
        })
        if ended_at is not UNSET:
            field_dict["ended_at"] = ended_at
        if outcome is not UNSET:
            field_dict["outcome"] = outcome

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        id = d.pop("id")

        object_ = cast(Literal['attempt'] , d.pop("object"))
        if object_ != 'attempt':
            raise ValueError(f"object must match const 'attempt', got '{object_}'")

        job = d.pop("job")

        number = d.pop("number")

        worker = d.pop("worker")

        devices = cast(list[str], d.pop("devices"))

        started_at = d.pop("started_at")

        first_step = d.pop("first_step")

        device_seconds = d.pop("device_seconds")

        def _parse_ended_at(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        ended_at = _parse_ended_at(d.pop("ended_at", UNSET))

        def _parse_outcome(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        outcome = _parse_outcome(d.pop("outcome", UNSET))

        attempt = cls(
            id=id,
            object_=object_,
            job=job,
            number=number,
            worker=worker,
            devices=devices,
            started_at=started_at,
            first_step=first_step,
            device_seconds=device_seconds,
            ended_at=ended_at,
            outcome=outcome,
        )

        attempt.additional_properties = d
        return attempt

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
