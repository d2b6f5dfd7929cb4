from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from typing import Literal, cast

T = TypeVar("T", bound="VerifierConstraintsInstructionType15")

@_attrs_define
class VerifierConstraintsInstructionType15:
    """ The whole text is JSON, in a code fence or without one.

        Attributes:
            id (Literal['detectable_format:json_format']):
     """

    id: Literal['detectable_format:json_format']

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
        id = cast(Literal['detectable_format:json_format'] , d.pop("id"))
        if id != 'detectable_format:json_format':
            raise ValueError(f"id must match const 'detectable_format:json_format', got '{id}'")

        verifier_constraints_instruction_type_15 = cls(
            id=id,
        )

        return verifier_constraints_instruction_type_15
