from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from typing import Literal, cast

T = TypeVar("T", bound="VerifierConstraintsInstructionType22")

@_attrs_define
class VerifierConstraintsInstructionType22:
    """ English, all in capitals.

        Attributes:
            id (Literal['change_case:english_capital']):
     """

    id: Literal['change_case:english_capital']

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
        id = cast(Literal['change_case:english_capital'] , d.pop("id"))
        if id != 'change_case:english_capital':
            raise ValueError(f"id must match const 'change_case:english_capital', got '{id}'")

        verifier_constraints_instruction_type_22 = cls(
            id=id,
        )

        return verifier_constraints_instruction_type_22
