from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="ObjectiveVopdBaselineTopK")

@_attrs_define
class ObjectiveVopdBaselineTopK:
    """ The divergence over the student's k most probable tokens.

        Attributes:
            top_k (int):
     """

    top_k: int

    def to_dict(self) -> dict[str, Any]:
        top_k = self.top_k

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "top_k": top_k,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        top_k = d.pop("top_k")

        objective_vopd_baseline_top_k = cls(
            top_k=top_k,
        )

        return objective_vopd_baseline_top_k
