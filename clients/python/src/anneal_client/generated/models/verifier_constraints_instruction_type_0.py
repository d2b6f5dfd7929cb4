from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from typing import cast
from typing import Literal, cast

T = TypeVar("T", bound="VerifierConstraintsInstructionType0")

@_attrs_define
class VerifierConstraintsInstructionType0:
    """ Every keyword is there, in either case.

        Attributes:
            id (Literal['keywords:existence']):
            keywords (list[str]):
     """

    id: Literal['keywords:existence']
    keywords: list[str]

    def to_dict(self) -> dict[str, Any]:
        id = self.id

        keywords = self.keywords

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "id": id,
            "keywords": keywords,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        id = cast(Literal['keywords:existence'] , d.pop("id"))
        if id != 'keywords:existence':
            raise ValueError(f"id must match const 'keywords:existence', got '{id}'")

        keywords = cast(list[str], d.pop("keywords"))

        verifier_constraints_instruction_type_0 = cls(
            id=id,
            keywords=keywords,
        )

        return verifier_constraints_instruction_type_0
