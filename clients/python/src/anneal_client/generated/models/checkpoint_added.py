from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..models.checkpoint_kind import CheckpointKind

T = TypeVar("T", bound="CheckpointAdded")

@_attrs_define
class CheckpointAdded:
    """ A checkpoint became complete and visible.

        Attributes:
            checkpoint (str):
            kind (CheckpointKind): What a checkpoint is for.
            step (int): Optimizer steps taken.
            bytes_ (int):
     """

    checkpoint: str
    kind: CheckpointKind
    step: int
    bytes_: int
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        checkpoint = self.checkpoint

        kind = self.kind.value

        step = self.step

        bytes_ = self.bytes_

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "checkpoint": checkpoint,
            "kind": kind,
            "step": step,
            "bytes": bytes_,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        checkpoint = d.pop("checkpoint")

        kind = CheckpointKind(d.pop("kind"))

        step = d.pop("step")

        bytes_ = d.pop("bytes")

        checkpoint_added = cls(
            checkpoint=checkpoint,
            kind=kind,
            step=step,
            bytes_=bytes_,
        )

        checkpoint_added.additional_properties = d
        return checkpoint_added

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
