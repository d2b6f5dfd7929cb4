from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from typing import Literal, cast

T = TypeVar("T", bound="VerifierConstraintsInstructionType4")

@_attrs_define
class VerifierConstraintsInstructionType4:
    """ The text is in this language, given by its code of ISO 639-1 or 639-3.

        Attributes:
            id (Literal['language:response_language']):
            language (str):
     """

    id: Literal['language:response_language']
    language: str

    def to_dict(self) -> dict[str, Any]:
        id = self.id

        language = self.language

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "id": id,
            "language": language,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        id = cast(Literal['language:response_language'] , d.pop("id"))
        if id != 'language:response_language':
            raise ValueError(f"id must match const 'language:response_language', got '{id}'")

        language = d.pop("language")

        verifier_constraints_instruction_type_4 = cls(
            id=id,
            language=language,
        )

        return verifier_constraints_instruction_type_4
