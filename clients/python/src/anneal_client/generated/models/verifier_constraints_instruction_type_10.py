from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from typing import Literal, cast

T = TypeVar("T", bound="VerifierConstraintsInstructionType10")

@_attrs_define
class VerifierConstraintsInstructionType10:
    """ There is a postscript that begins with the marker.

        Attributes:
            id (Literal['detectable_content:postscript']):
            postscript_marker (str):
     """

    id: Literal['detectable_content:postscript']
    postscript_marker: str

    def to_dict(self) -> dict[str, Any]:
        id = self.id

        postscript_marker = self.postscript_marker

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "id": id,
            "postscript_marker": postscript_marker,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        id = cast(Literal['detectable_content:postscript'] , d.pop("id"))
        if id != 'detectable_content:postscript':
            raise ValueError(f"id must match const 'detectable_content:postscript', got '{id}'")

        postscript_marker = d.pop("postscript_marker")

        verifier_constraints_instruction_type_10 = cls(
            id=id,
            postscript_marker=postscript_marker,
        )

        return verifier_constraints_instruction_type_10
