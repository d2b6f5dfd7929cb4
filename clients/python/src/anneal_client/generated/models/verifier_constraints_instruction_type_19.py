from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from typing import Literal, cast

T = TypeVar("T", bound="VerifierConstraintsInstructionType19")

@_attrs_define
class VerifierConstraintsInstructionType19:
    """ The text ends with this one, in either case.

        Attributes:
            id (Literal['startend:end_checker']):
            end_phrase (str):
     """

    id: Literal['startend:end_checker']
    end_phrase: str

    def to_dict(self) -> dict[str, Any]:
        id = self.id

        end_phrase = self.end_phrase

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "id": id,
            "end_phrase": end_phrase,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        id = cast(Literal['startend:end_checker'] , d.pop("id"))
        if id != 'startend:end_checker':
            raise ValueError(f"id must match const 'startend:end_checker', got '{id}'")

        end_phrase = d.pop("end_phrase")

        verifier_constraints_instruction_type_19 = cls(
            id=id,
            end_phrase=end_phrase,
        )

        return verifier_constraints_instruction_type_19
