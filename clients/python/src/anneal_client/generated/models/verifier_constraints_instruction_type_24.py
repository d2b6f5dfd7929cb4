from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from typing import Literal, cast

T = TypeVar("T", bound="VerifierConstraintsInstructionType24")

@_attrs_define
class VerifierConstraintsInstructionType24:
    """ There is no comma.

        Attributes:
            id (Literal['punctuation:no_comma']):
     """

    id: Literal['punctuation:no_comma']

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
        id = cast(Literal['punctuation:no_comma'] , d.pop("id"))
        if id != 'punctuation:no_comma':
            raise ValueError(f"id must match const 'punctuation:no_comma', got '{id}'")

        verifier_constraints_instruction_type_24 = cls(
            id=id,
        )

        return verifier_constraints_instruction_type_24
