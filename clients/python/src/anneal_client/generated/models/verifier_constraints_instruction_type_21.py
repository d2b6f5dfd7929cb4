from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..models.verifier_constraints_relation import VerifierConstraintsRelation
from ..types import UNSET, Unset
from typing import Literal, cast

T = TypeVar("T", bound="VerifierConstraintsInstructionType21")

@_attrs_define
class VerifierConstraintsInstructionType21:
    """ How many words are in capitals.

        Attributes:
            id (Literal['change_case:capital_word_frequency']):
            capital_frequency (int):
            capital_relation (VerifierConstraintsRelation | Unset): How a count compares with the one that is asked for.
     """

    id: Literal['change_case:capital_word_frequency']
    capital_frequency: int
    capital_relation: VerifierConstraintsRelation | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        id = self.id

        capital_frequency = self.capital_frequency

        capital_relation: str | Unset = UNSET
        if not isinstance(self.capital_relation, Unset):
            capital_relation = self.capital_relation.value

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "id": id,
            "capital_frequency": capital_frequency,
        })
        if capital_relation is not UNSET:
            field_dict["capital_relation"] = capital_relation

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        id = cast(Literal['change_case:capital_word_frequency'] , d.pop("id"))
        if id != 'change_case:capital_word_frequency':
            raise ValueError(f"id must match const 'change_case:capital_word_frequency', got '{id}'")

        capital_frequency = d.pop("capital_frequency")

        _capital_relation = d.pop("capital_relation", UNSET)
        capital_relation: VerifierConstraintsRelation | Unset
        if isinstance(_capital_relation,  Unset):
            capital_relation = UNSET
        else:
            capital_relation = VerifierConstraintsRelation(_capital_relation)

        verifier_constraints_instruction_type_21 = cls(
            id=id,
            capital_frequency=capital_frequency,
            capital_relation=capital_relation,
        )

        return verifier_constraints_instruction_type_21
