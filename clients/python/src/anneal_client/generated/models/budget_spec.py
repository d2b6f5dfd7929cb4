from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..models.on_exhausted import OnExhausted
from ..types import UNSET, Unset

T = TypeVar("T", bound="BudgetSpec")

@_attrs_define
class BudgetSpec:
    """ A limit on what a job may use, over all of its attempts.

        Attributes:
            device_seconds (int): Seconds of attempts times the devices that they held.
            on_exhausted (OnExhausted | Unset): What becomes of a job whose budget is spent.

                - `pause`: It is saved and paused; with a larger budget it can be resumed.
                - `fail`: It fails with the code `budget_exhausted`.
     """

    device_seconds: int
    on_exhausted: OnExhausted | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        device_seconds = self.device_seconds

        on_exhausted: str | Unset = UNSET
        if not isinstance(self.on_exhausted, Unset):
            on_exhausted = self.on_exhausted.value

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "device_seconds": device_seconds,
        })
        if on_exhausted is not UNSET:
            field_dict["on_exhausted"] = on_exhausted

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        device_seconds = d.pop("device_seconds")

        _on_exhausted = d.pop("on_exhausted", UNSET)
        on_exhausted: OnExhausted | Unset
        if isinstance(_on_exhausted,  Unset):
            on_exhausted = UNSET
        else:
            on_exhausted = OnExhausted(_on_exhausted)

        budget_spec = cls(
            device_seconds=device_seconds,
            on_exhausted=on_exhausted,
        )

        return budget_spec
