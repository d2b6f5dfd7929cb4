from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from typing import cast
from typing import Literal, cast

T = TypeVar("T", bound="VerifierConstraintsInstructionType2")

@_attrs_define
class VerifierConstraintsInstructionType2:
    """ None of these is there as a word, in either case.

        Attributes:
            id (Literal['keywords:forbidden_words']):
            forbidden_words (list[str]):
     """

    id: Literal['keywords:forbidden_words']
    forbidden_words: list[str]

    def to_dict(self) -> dict[str, Any]:
        id = self.id

        forbidden_words = self.forbidden_words

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "id": id,
            "forbidden_words": forbidden_words,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        id = cast(Literal['keywords:forbidden_words'] , d.pop("id"))
        if id != 'keywords:forbidden_words':
            raise ValueError(f"id must match const 'keywords:forbidden_words', got '{id}'")

        forbidden_words = cast(list[str], d.pop("forbidden_words"))

        verifier_constraints_instruction_type_2 = cls(
            id=id,
            forbidden_words=forbidden_words,
        )

        return verifier_constraints_instruction_type_2
