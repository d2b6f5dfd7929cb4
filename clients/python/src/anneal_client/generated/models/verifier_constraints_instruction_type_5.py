from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..models.verifier_constraints_relation import VerifierConstraintsRelation
from ..types import UNSET, Unset
from typing import Literal, cast

T = TypeVar("T", bound="VerifierConstraintsInstructionType5")

@_attrs_define
class VerifierConstraintsInstructionType5:
    """ How many sentences there are.

        Attributes:
            id (Literal['length_constraints:number_sentences']):
            num_sentences (int):
            relation (VerifierConstraintsRelation | Unset): How a count compares with the one that is asked for.
     """

    id: Literal['length_constraints:number_sentences']
    num_sentences: int
    relation: VerifierConstraintsRelation | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        id = self.id

        num_sentences = self.num_sentences

        relation: str | Unset = UNSET
        if not isinstance(self.relation, Unset):
            relation = self.relation.value

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "id": id,
            "num_sentences": num_sentences,
        })
        if relation is not UNSET:
            field_dict["relation"] = relation

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        id = cast(Literal['length_constraints:number_sentences'] , d.pop("id"))
        if id != 'length_constraints:number_sentences':
            raise ValueError(f"id must match const 'length_constraints:number_sentences', got '{id}'")

        num_sentences = d.pop("num_sentences")

        _relation = d.pop("relation", UNSET)
        relation: VerifierConstraintsRelation | Unset
        if isinstance(_relation,  Unset):
            relation = UNSET
        else:
            relation = VerifierConstraintsRelation(_relation)

        verifier_constraints_instruction_type_5 = cls(
            id=id,
            num_sentences=num_sentences,
            relation=relation,
        )

        return verifier_constraints_instruction_type_5
