from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from typing import Literal, cast

T = TypeVar("T", bound="VerifierConstraintsInstructionType18")

@_attrs_define
class VerifierConstraintsInstructionType18:
    """ The text begins with this one, in either case.

        Attributes:
            id (Literal['combination:repeat_prompt']):
            prompt_to_repeat (str):
     """

    id: Literal['combination:repeat_prompt']
    prompt_to_repeat: str

    def to_dict(self) -> dict[str, Any]:
        id = self.id

        prompt_to_repeat = self.prompt_to_repeat

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "id": id,
            "prompt_to_repeat": prompt_to_repeat,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        id = cast(Literal['combination:repeat_prompt'] , d.pop("id"))
        if id != 'combination:repeat_prompt':
            raise ValueError(f"id must match const 'combination:repeat_prompt', got '{id}'")

        prompt_to_repeat = d.pop("prompt_to_repeat")

        verifier_constraints_instruction_type_18 = cls(
            id=id,
            prompt_to_repeat=prompt_to_repeat,
        )

        return verifier_constraints_instruction_type_18
