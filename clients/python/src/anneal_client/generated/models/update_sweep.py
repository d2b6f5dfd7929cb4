from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast

T = TypeVar("T", bound="UpdateSweep")

@_attrs_define
class UpdateSweep:
    """ What to change; what is left out stays as it is.

        Attributes:
            paused (bool | None | Unset): With true no more trials begin, and those under way go on; with false they begin
                again.
            at_once (int | None | Unset): How many of its jobs are queued or on a device at once, at most. With less than
                there are none is stopped.
     """

    paused: bool | None | Unset = UNSET
    at_once: int | None | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        paused: bool | None | Unset
        if isinstance(self.paused, Unset):
            paused = UNSET
        else:
            paused = self.paused

        at_once: int | None | Unset
        if isinstance(self.at_once, Unset):
            at_once = UNSET
        else:
            at_once = self.at_once

        field_dict: dict[str, Any] = {}

        field_dict.update({
        })
        if paused is not UNSET:
            field_dict["paused"] = paused
        if at_once is not UNSET:
            field_dict["at_once"] = at_once

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        def _parse_paused(data: object) -> bool | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(bool | None | Unset, data)

        paused = _parse_paused(d.pop("paused", UNSET))

        def _parse_at_once(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        at_once = _parse_at_once(d.pop("at_once", UNSET))

        update_sweep = cls(
            paused=paused,
            at_once=at_once,
        )

        return update_sweep
