from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..models.verifier_constraints_relation import VerifierConstraintsRelation
from ..types import UNSET, Unset
from typing import Literal, cast

T = TypeVar("T", bound="VerifierConstraintsInstructionType3")

@_attrs_define
class VerifierConstraintsInstructionType3:
    """ How often a letter is there, in either case.

        Attributes:
            id (Literal['keywords:letter_frequency']):
            letter (str):
            let_frequency (int):
            let_relation (VerifierConstraintsRelation | Unset): How a count compares with the one that is asked for.
     """

    id: Literal['keywords:letter_frequency']
    letter: str
    let_frequency: int
    let_relation: VerifierConstraintsRelation | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        id = self.id

        letter = self.letter

        let_frequency = self.let_frequency

        let_relation: str | Unset = UNSET
        if not isinstance(self.let_relation, Unset):
            let_relation = self.let_relation.value

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "id": id,
            "letter": letter,
            "let_frequency": let_frequency,
        })
        if let_relation is not UNSET:
            field_dict["let_relation"] = let_relation

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        id = cast(Literal['keywords:letter_frequency'] , d.pop("id"))
        if id != 'keywords:letter_frequency':
            raise ValueError(f"id must match const 'keywords:letter_frequency', got '{id}'")

        letter = d.pop("letter")

        let_frequency = d.pop("let_frequency")

        _let_relation = d.pop("let_relation", UNSET)
        let_relation: VerifierConstraintsRelation | Unset
        if isinstance(_let_relation,  Unset):
            let_relation = UNSET
        else:
            let_relation = VerifierConstraintsRelation(_let_relation)

        verifier_constraints_instruction_type_3 = cls(
            id=id,
            letter=letter,
            let_frequency=let_frequency,
            let_relation=let_relation,
        )

        return verifier_constraints_instruction_type_3
