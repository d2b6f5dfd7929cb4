from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from typing import Literal, cast

T = TypeVar("T", bound="VerifierConstraintsInstructionType8")

@_attrs_define
class VerifierConstraintsInstructionType8:
    """ There are exactly so many paragraphs, told apart by empty lines, and one of them begins with a word.

        Attributes:
            id (Literal['length_constraints:nth_paragraph_first_word']):
            num_paragraphs (int):
            nth_paragraph (int):
            first_word (str):
     """

    id: Literal['length_constraints:nth_paragraph_first_word']
    num_paragraphs: int
    nth_paragraph: int
    first_word: str

    def to_dict(self) -> dict[str, Any]:
        id = self.id

        num_paragraphs = self.num_paragraphs

        nth_paragraph = self.nth_paragraph

        first_word = self.first_word

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "id": id,
            "num_paragraphs": num_paragraphs,
            "nth_paragraph": nth_paragraph,
            "first_word": first_word,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        id = cast(Literal['length_constraints:nth_paragraph_first_word'] , d.pop("id"))
        if id != 'length_constraints:nth_paragraph_first_word':
            raise ValueError(f"id must match const 'length_constraints:nth_paragraph_first_word', got '{id}'")

        num_paragraphs = d.pop("num_paragraphs")

        nth_paragraph = d.pop("nth_paragraph")

        first_word = d.pop("first_word")

        verifier_constraints_instruction_type_8 = cls(
            id=id,
            num_paragraphs=num_paragraphs,
            nth_paragraph=nth_paragraph,
            first_word=first_word,
        )

        return verifier_constraints_instruction_type_8
