from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast

if TYPE_CHECKING:
  from ..models.held_lease import HeldLease

T = TypeVar("T", bound="ClaimRequest")

@_attrs_define
class ClaimRequest:
    """ A worker that can take a job.

        Attributes:
            held (list[HeldLease] | Unset): The jobs that it has, or has taken part in lately.
            takes_part (bool | Unset): Whether it also takes part in jobs whose first device is on another machine.
     """

    held: list[HeldLease] | Unset = UNSET
    takes_part: bool | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        from ..models.held_lease import HeldLease # noqa: PLC0415
        held: list[dict[str, Any]] | Unset = UNSET
        if not isinstance(self.held, Unset):
            held = []
            for held_item_data in self.held:
                held_item = held_item_data.to_dict()
                held.append(held_item)

        takes_part = self.takes_part

        field_dict: dict[str, Any] = {}

        field_dict.update({
        })
        if held is not UNSET:
            field_dict["held"] = held
        if takes_part is not UNSET:
            field_dict["takes_part"] = takes_part

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.held_lease import HeldLease # noqa: PLC0415
        d = dict(src_dict)
        _held = d.pop("held", UNSET)
        held: list[HeldLease] | Unset = UNSET
        if _held is not UNSET:
            held = []
            for held_item_data in _held:
                held_item = HeldLease.from_dict(held_item_data)

                held.append(held_item)

        takes_part = d.pop("takes_part", UNSET)

        claim_request = cls(
            held=held,
            takes_part=takes_part,
        )

        return claim_request
