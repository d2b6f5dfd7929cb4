from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from typing import Literal, cast

T = TypeVar("T", bound="VerifierConstraintsInstructionType12")

@_attrs_define
class VerifierConstraintsInstructionType12:
    """ One of `My answer is yes.`, `My answer is no.` and `My answer is maybe.` is there.

        Attributes:
            id (Literal['detectable_format:constrained_response']):
     """

    id: Literal['detectable_format:constrained_response']

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
        id = cast(Literal['detectable_format:constrained_response'] , d.pop("id"))
        if id != 'detectable_format:constrained_response':
            raise ValueError(f"id must match const 'detectable_format:constrained_response', got '{id}'")

        verifier_constraints_instruction_type_12 = cls(
            id=id,
        )

        return verifier_constraints_instruction_type_12
