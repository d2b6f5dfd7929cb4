from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from typing import Literal, cast

T = TypeVar("T", bound="VerifierConstraintsInstructionType13")

@_attrs_define
class VerifierConstraintsInstructionType13:
    """ At least so many parts are emphasised with asterisks.

        Attributes:
            id (Literal['detectable_format:number_highlighted_sections']):
            num_highlights (int):
     """

    id: Literal['detectable_format:number_highlighted_sections']
    num_highlights: int

    def to_dict(self) -> dict[str, Any]:
        id = self.id

        num_highlights = self.num_highlights

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "id": id,
            "num_highlights": num_highlights,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        id = cast(Literal['detectable_format:number_highlighted_sections'] , d.pop("id"))
        if id != 'detectable_format:number_highlighted_sections':
            raise ValueError(f"id must match const 'detectable_format:number_highlighted_sections', got '{id}'")

        num_highlights = d.pop("num_highlights")

        verifier_constraints_instruction_type_13 = cls(
            id=id,
            num_highlights=num_highlights,
        )

        return verifier_constraints_instruction_type_13
