from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="RolloutSetAdded")

@_attrs_define
class RolloutSetAdded:
    """ The job's rollout set became complete and visible.

        Attributes:
            rollout_set (str):
            rollouts (int): Completions in it.
            groups (int): Prompts in it.
            bytes_ (int):
     """

    rollout_set: str
    rollouts: int
    groups: int
    bytes_: int
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        rollout_set = self.rollout_set

        rollouts = self.rollouts

        groups = self.groups

        bytes_ = self.bytes_

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "rollout_set": rollout_set,
            "rollouts": rollouts,
            "groups": groups,
            "bytes": bytes_,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        rollout_set = d.pop("rollout_set")

        rollouts = d.pop("rollouts")

        groups = d.pop("groups")

        bytes_ = d.pop("bytes")

        rollout_set_added = cls(
            rollout_set=rollout_set,
            rollouts=rollouts,
            groups=groups,
            bytes_=bytes_,
        )

        rollout_set_added.additional_properties = d
        return rollout_set_added

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
