from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset

T = TypeVar("T", bound="HeldLease")

@_attrs_define
class HeldLease:
    """ A worker's right to run a job, and for how long it has done so.

        Attributes:
            job (str):
            attempt (int):
            held_milliseconds (int | Unset): For how long the worker has had the job's devices.
     """

    job: str
    attempt: int
    held_milliseconds: int | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        job = self.job

        attempt = self.attempt

        held_milliseconds = self.held_milliseconds

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "job": job,
            "attempt": attempt,
        })
        if held_milliseconds is not UNSET:
            field_dict["held_milliseconds"] = held_milliseconds

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        job = d.pop("job")

        attempt = d.pop("attempt")

        held_milliseconds = d.pop("held_milliseconds", UNSET)

        held_lease = cls(
            job=job,
            attempt=attempt,
            held_milliseconds=held_milliseconds,
        )

        return held_lease
