from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from typing import Literal, cast

T = TypeVar("T", bound="VerifierConstraintsInstructionType20")

@_attrs_define
class VerifierConstraintsInstructionType20:
    """ The whole text stands in double quotation marks.

        Attributes:
            id (Literal['startend:quotation']):
     """

    id: Literal['startend:quotation']

    def to_dict(self) -> dict[str, Any]:
        id = self.id

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "id": id,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        id = cast(Literal['startend:quotation'] , d.pop("id"))
        if id != 'startend:quotation':
            raise ValueError(f"id must match const 'startend:quotation', got '{id}'")

        verifier_constraints_instruction_type_20 = cls(
            id=id,
        )

        return verifier_constraints_instruction_type_20
