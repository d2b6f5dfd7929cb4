from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..models.job_phase import JobPhase

T = TypeVar("T", bound="PhaseProgress")

@_attrs_define
class PhaseProgress:
    """ How far the work of a phase is.

        Attributes:
            phase (JobPhase): What a running job does.
            done (int):
            total (int):
            unit (str): What is counted, such as `completions`.
     """

    phase: JobPhase
    done: int
    total: int
    unit: str
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        phase = self.phase.value

        done = self.done

        total = self.total

        unit = self.unit

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "phase": phase,
            "done": done,
            "total": total,
            "unit": unit,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        phase = JobPhase(d.pop("phase"))

        done = d.pop("done")

        total = d.pop("total")

        unit = d.pop("unit")

        phase_progress = cls(
            phase=phase,
            done=done,
            total=total,
            unit=unit,
        )

        phase_progress.additional_properties = d
        return phase_progress

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
