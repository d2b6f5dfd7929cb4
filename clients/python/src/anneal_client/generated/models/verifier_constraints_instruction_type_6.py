from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from typing import Literal, cast

T = TypeVar("T", bound="VerifierConstraintsInstructionType6")

@_attrs_define
class VerifierConstraintsInstructionType6:
    """ There are exactly so many paragraphs, told apart by `***`.

        Attributes:
            id (Literal['length_constraints:number_paragraphs']):
            num_paragraphs (int):
     """

    id: Literal['length_constraints:number_paragraphs']
    num_paragraphs: int

    def to_dict(self) -> dict[str, Any]:
        id = self.id

        num_paragraphs = self.num_paragraphs

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "id": id,
            "num_paragraphs": num_paragraphs,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        id = cast(Literal['length_constraints:number_paragraphs'] , d.pop("id"))
        if id != 'length_constraints:number_paragraphs':
            raise ValueError(f"id must match const 'length_constraints:number_paragraphs', got '{id}'")

        num_paragraphs = d.pop("num_paragraphs")

        verifier_constraints_instruction_type_6 = cls(
            id=id,
            num_paragraphs=num_paragraphs,
        )

        return verifier_constraints_instruction_type_6
