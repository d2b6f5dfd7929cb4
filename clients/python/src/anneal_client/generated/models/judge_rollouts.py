from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from typing import cast

if TYPE_CHECKING:
  from ..models.json_object import JsonObject

T = TypeVar("T", bound="JudgeRollouts")

@_attrs_define
class JudgeRollouts:
    """ Which completions to judge, and with what.

        Attributes:
            group (str): The `group` of completions in `GET /v1/jobs/{id}/rollouts`.
            verifier (JsonObject): Any JSON object.
     """

    group: str
    verifier: JsonObject

    def to_dict(self) -> dict[str, Any]:
        from ..models.json_object import JsonObject # noqa: PLC0415
        group = self.group

        verifier = self.verifier.to_dict()

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "group": group,
            "verifier": verifier,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.json_object import JsonObject # noqa: PLC0415
        d = dict(src_dict)
        group = d.pop("group")

        verifier = JsonObject.from_dict(d.pop("verifier"))

        judge_rollouts = cls(
            group=group,
            verifier=verifier,
        )

        return judge_rollouts
