from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from typing import Literal, cast

T = TypeVar("T", bound="VerifierConstraintsInstructionType9")

@_attrs_define
class VerifierConstraintsInstructionType9:
    """ There are at least so many places such as `[address]`.

        Attributes:
            id (Literal['detectable_content:number_placeholders']):
            num_placeholders (int):
     """

    id: Literal['detectable_content:number_placeholders']
    num_placeholders: int

    def to_dict(self) -> dict[str, Any]:
        id = self.id

        num_placeholders = self.num_placeholders

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "id": id,
            "num_placeholders": num_placeholders,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        id = cast(Literal['detectable_content:number_placeholders'] , d.pop("id"))
        if id != 'detectable_content:number_placeholders':
            raise ValueError(f"id must match const 'detectable_content:number_placeholders', got '{id}'")

        num_placeholders = d.pop("num_placeholders")

        verifier_constraints_instruction_type_9 = cls(
            id=id,
            num_placeholders=num_placeholders,
        )

        return verifier_constraints_instruction_type_9
