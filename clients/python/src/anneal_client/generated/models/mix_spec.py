from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="MixSpec")

@_attrs_define
class MixSpec:
    """ Stored completions among fresh ones.

        Attributes:
            rollout_set (str): The rollout set (`rs_...`).
            share (float): Share of a step's prompts that comes from it, above 0 and below 1.
     """

    rollout_set: str
    share: float

    def to_dict(self) -> dict[str, Any]:
        rollout_set = self.rollout_set

        share = self.share

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "rollout_set": rollout_set,
            "share": share,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        rollout_set = d.pop("rollout_set")

        share = d.pop("share")

        mix_spec = cls(
            rollout_set=rollout_set,
            share=share,
        )

        return mix_spec
