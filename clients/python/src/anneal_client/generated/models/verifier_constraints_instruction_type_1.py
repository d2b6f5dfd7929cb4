from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..models.verifier_constraints_relation import VerifierConstraintsRelation
from ..types import UNSET, Unset
from typing import Literal, cast

T = TypeVar("T", bound="VerifierConstraintsInstructionType1")

@_attrs_define
class VerifierConstraintsInstructionType1:
    """ How often a keyword is there, in either case.

        Attributes:
            id (Literal['keywords:frequency']):
            keyword (str):
            frequency (int):
            relation (VerifierConstraintsRelation | Unset): How a count compares with the one that is asked for.
     """

    id: Literal['keywords:frequency']
    keyword: str
    frequency: int
    relation: VerifierConstraintsRelation | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        id = self.id

        keyword = self.keyword

        frequency = self.frequency

        relation: str | Unset = UNSET
        if not isinstance(self.relation, Unset):
            relation = self.relation.value

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "id": id,
            "keyword": keyword,
            "frequency": frequency,
        })
        if relation is not UNSET:
            field_dict["relation"] = relation

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        id = cast(Literal['keywords:frequency'] , d.pop("id"))
        if id != 'keywords:frequency':
            raise ValueError(f"id must match const 'keywords:frequency', got '{id}'")

        keyword = d.pop("keyword")

        frequency = d.pop("frequency")

        _relation = d.pop("relation", UNSET)
        relation: VerifierConstraintsRelation | Unset
        if isinstance(_relation,  Unset):
            relation = UNSET
        else:
            relation = VerifierConstraintsRelation(_relation)

        verifier_constraints_instruction_type_1 = cls(
            id=id,
            keyword=keyword,
            frequency=frequency,
            relation=relation,
        )

        return verifier_constraints_instruction_type_1
