from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="AggregationConstant")

@_attrs_define
class AggregationConstant:
    """ The mean over completions of the sum over their tokens divided by this number of tokens, such as
    `sampling.max_new_tokens` (Dr. GRPO, arXiv 2503.20783).

        Attributes:
            constant (int):
     """

    constant: int

    def to_dict(self) -> dict[str, Any]:
        constant = self.constant

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "constant": constant,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        constant = d.pop("constant")

        aggregation_constant = cls(
            constant=constant,
        )

        return aggregation_constant
