from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="SweepBudget")

@_attrs_define
class SweepBudget:
    """ What all jobs of a sweep together may use. When it is spent they are saved and paused, and the sweep with them.

        Attributes:
            device_seconds (int): Seconds of attempts times the devices that they held.
     """

    device_seconds: int

    def to_dict(self) -> dict[str, Any]:
        device_seconds = self.device_seconds

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "device_seconds": device_seconds,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        device_seconds = d.pop("device_seconds")

        sweep_budget = cls(
            device_seconds=device_seconds,
        )

        return sweep_budget
