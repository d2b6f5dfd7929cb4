from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from typing import cast

if TYPE_CHECKING:
  from ..models.json_object import JsonObject

T = TypeVar("T", bound="ReportedEvent")

@_attrs_define
class ReportedEvent:
    """ An event as it is reported.

        Attributes:
            type_ (str): `phase`, `progress`, `metrics`, `evaluation` or `log`; all else the server writes itself.
            level (str):
            message (str): A sentence for people.
            data (JsonObject): Any JSON object.
     """

    type_: str
    level: str
    message: str
    data: JsonObject

    def to_dict(self) -> dict[str, Any]:
        from ..models.json_object import JsonObject # noqa: PLC0415
        type_ = self.type_

        level = self.level

        message = self.message

        data = self.data.to_dict()

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "type": type_,
            "level": level,
            "message": message,
            "data": data,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.json_object import JsonObject # noqa: PLC0415
        d = dict(src_dict)
        type_ = d.pop("type")

        level = d.pop("level")

        message = d.pop("message")

        data = JsonObject.from_dict(d.pop("data"))

        reported_event = cls(
            type_=type_,
            level=level,
            message=message,
            data=data,
        )

        return reported_event
