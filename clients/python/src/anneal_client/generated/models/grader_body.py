from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from typing import cast

if TYPE_CHECKING:
  from ..models.json_object import JsonObject

T = TypeVar("T", bound="GraderBody")

@_attrs_define
class GraderBody:
    """ A grader, or a verifier in the place of one.

        Attributes:
            grader (JsonObject): Any JSON object.
     """

    grader: JsonObject

    def to_dict(self) -> dict[str, Any]:
        from ..models.json_object import JsonObject # noqa: PLC0415
        grader = self.grader.to_dict()

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "grader": grader,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.json_object import JsonObject # noqa: PLC0415
        d = dict(src_dict)
        grader = JsonObject.from_dict(d.pop("grader"))

        grader_body = cls(
            grader=grader,
        )

        return grader_body
