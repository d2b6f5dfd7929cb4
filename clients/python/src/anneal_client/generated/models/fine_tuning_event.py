from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from typing import cast
from typing import Literal, cast

if TYPE_CHECKING:
  from ..models.json_object import JsonObject

T = TypeVar("T", bound="FineTuningEvent")

@_attrs_define
class FineTuningEvent:
    """ An event of a job as OpenAI clients read it.

        Attributes:
            id (str):
            object_ (Literal['fine_tuning.job.event']):
            created_at (int): Unix seconds.
            level (str): `info`, `warn` or `error`.
            message (str):
            type_ (str): `metrics` for the numbers of a step, otherwise `message`.
            data (JsonObject): Any JSON object.
     """

    id: str
    object_: Literal['fine_tuning.job.event']
    created_at: int
    level: str
    message: str
    type_: str
    data: JsonObject
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.json_object import JsonObject # noqa: PLC0415
        id = self.id

        object_ = self.object_

        created_at = self.created_at

        level = self.level

        message = self.message

        type_ = self.type_

        data = self.data.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "id": id,
            "object": object_,
            "created_at": created_at,
            "level": level,
            "message": message,
            "type": type_,
            "data": data,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.json_object import JsonObject # noqa: PLC0415
        d = dict(src_dict)
        id = d.pop("id")

        object_ = cast(Literal['fine_tuning.job.event'] , d.pop("object"))
        if object_ != 'fine_tuning.job.event':
            raise ValueError(f"object must match const 'fine_tuning.job.event', got '{object_}'")

        created_at = d.pop("created_at")

        level = d.pop("level")

        message = d.pop("message")

        type_ = d.pop("type")

        data = JsonObject.from_dict(d.pop("data"))

        fine_tuning_event = cls(
            id=id,
            object_=object_,
            created_at=created_at,
            level=level,
            message=message,
            type_=type_,
            data=data,
        )

        fine_tuning_event.additional_properties = d
        return fine_tuning_event

    @property
    def additional_keys(self) -> list[str]:
        return list(self.additional_properties.keys())

    def __getitem__(self, key: str) -> Any:
        return self.additional_properties[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self.additional_properties[key] = value

    def __delitem__(self, key: str) -> None:
        del self.additional_properties[key]

    def __contains__(self, key: str) -> bool:
        return key in self.additional_properties
