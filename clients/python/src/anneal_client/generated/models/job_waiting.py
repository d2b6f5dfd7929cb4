from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast

if TYPE_CHECKING:
  from ..models.candidate_device import CandidateDevice

T = TypeVar("T", bound="JobWaiting")

@_attrs_define
class JobWaiting:
    """ Why a job waits, and for what.

        Attributes:
            code (str): `starting`, `devices_busy`, `devices_reserved`, `behind`, `memory`, `device_faulted`,
                `device_taken`,
                `no_device`, `project_limit`, `storage_full`, `model_importing` or `launching`.
            message (str): The same as a sentence.
            position (int): Place in the queue; 1 is next.
            devices_needed (int): Devices that it needs.
            devices_idle (int): Devices that it could use now if it were first.
            memory_needed (int): Bytes that it needs on each of its devices, by an estimate.
            candidates (list[CandidateDevice]): Every device of the server, with what makes it fit or not.
            behind (None | str | Unset): The job ahead that it waits for to start; null where that is another project's.
            expected_start (int | None | Unset): Unix seconds, from the progress of the jobs that run; null when it cannot
                be told, as behind another job.
     """

    code: str
    message: str
    position: int
    devices_needed: int
    devices_idle: int
    memory_needed: int
    candidates: list[CandidateDevice]
    behind: None | str | Unset = UNSET
    expected_start: int | None | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.candidate_device import CandidateDevice # noqa: PLC0415
        code = self.code

        message = self.message

        position = self.position

        devices_needed = self.devices_needed

        devices_idle = self.devices_idle

        memory_needed = self.memory_needed

        candidates = []
        for candidates_item_data in self.candidates:
            candidates_item = candidates_item_data.to_dict()
            candidates.append(candidates_item)

        behind: None | str | Unset
        if isinstance(self.behind, Unset):
            behind = UNSET
        else:
            behind = self.behind

        expected_start: int | None | Unset
        if isinstance(self.expected_start, Unset):
            expected_start = UNSET
        else:
            expected_start = self.expected_start

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "code": code,
            "message": message,
            "position": position,
            "devices_needed": devices_needed,
            "devices_idle": devices_idle,
            "memory_needed": memory_needed,
            "candidates": candidates,
        })
        if behind is not UNSET:
            field_dict["behind"] = behind
        if expected_start is not UNSET:
            field_dict["expected_start"] = expected_start

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.candidate_device import CandidateDevice # noqa: PLC0415
        d = dict(src_dict)
        code = d.pop("code")

        message = d.pop("message")

        position = d.pop("position")

        devices_needed = d.pop("devices_needed")

        devices_idle = d.pop("devices_idle")

        memory_needed = d.pop("memory_needed")

        candidates = []
        _candidates = d.pop("candidates")
        for candidates_item_data in (_candidates):
            candidates_item = CandidateDevice.from_dict(candidates_item_data)

            candidates.append(candidates_item)

        def _parse_behind(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        behind = _parse_behind(d.pop("behind", UNSET))

        def _parse_expected_start(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        expected_start = _parse_expected_start(d.pop("expected_start", UNSET))

        job_waiting = cls(
            code=code,
            message=message,
            position=position,
            devices_needed=devices_needed,
            devices_idle=devices_idle,
            memory_needed=memory_needed,
            candidates=candidates,
            behind=behind,
            expected_start=expected_start,
        )

        job_waiting.additional_properties = d
        return job_waiting

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
