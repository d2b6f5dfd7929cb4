from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from typing import Literal, cast

T = TypeVar("T", bound="VerifierConstraintsInstructionType14")

@_attrs_define
class VerifierConstraintsInstructionType14:
    """ There are at least so many sections, each begun by the word and a number.

        Attributes:
            id (Literal['detectable_format:multiple_sections']):
            section_spliter (str): The word; IFEval spells the argument so.
            num_sections (int):
     """

    id: Literal['detectable_format:multiple_sections']
    section_spliter: str
    num_sections: int

    def to_dict(self) -> dict[str, Any]:
        id = self.id

        section_spliter = self.section_spliter

        num_sections = self.num_sections

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "id": id,
            "section_spliter": section_spliter,
            "num_sections": num_sections,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        id = cast(Literal['detectable_format:multiple_sections'] , d.pop("id"))
        if id != 'detectable_format:multiple_sections':
            raise ValueError(f"id must match const 'detectable_format:multiple_sections', got '{id}'")

        section_spliter = d.pop("section_spliter")

        num_sections = d.pop("num_sections")

        verifier_constraints_instruction_type_14 = cls(
            id=id,
            section_spliter=section_spliter,
            num_sections=num_sections,
        )

        return verifier_constraints_instruction_type_14
