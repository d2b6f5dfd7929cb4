from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from typing import Literal, cast

T = TypeVar("T", bound="VerifierConstraintsInstructionType11")

@_attrs_define
class VerifierConstraintsInstructionType11:
    """ There are exactly so many points of lists that begin with `*` or `-`.

        Attributes:
            id (Literal['detectable_format:number_bullet_lists']):
            num_bullets (int):
     """

    id: Literal['detectable_format:number_bullet_lists']
    num_bullets: int

    def to_dict(self) -> dict[str, Any]:
        id = self.id

        num_bullets = self.num_bullets

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "id": id,
            "num_bullets": num_bullets,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        id = cast(Literal['detectable_format:number_bullet_lists'] , d.pop("id"))
        if id != 'detectable_format:number_bullet_lists':
            raise ValueError(f"id must match const 'detectable_format:number_bullet_lists', got '{id}'")

        num_bullets = d.pop("num_bullets")

        verifier_constraints_instruction_type_11 = cls(
            id=id,
            num_bullets=num_bullets,
        )

        return verifier_constraints_instruction_type_11
