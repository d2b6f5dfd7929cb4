from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset

T = TypeVar("T", bound="WorkerEnd")

@_attrs_define
class WorkerEnd:
    """ A worker that has something to do no more.

        Attributes:
            reason (str): Why, for people.
            blameless (bool | Unset): Whether its end says nothing of its jobs; otherwise it counts as a crash of each.
     """

    reason: str
    blameless: bool | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        reason = self.reason

        blameless = self.blameless

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "reason": reason,
        })
        if blameless is not UNSET:
            field_dict["blameless"] = blameless

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        reason = d.pop("reason")

        blameless = d.pop("blameless", UNSET)

        worker_end = cls(
            reason=reason,
            blameless=blameless,
        )

        return worker_end
