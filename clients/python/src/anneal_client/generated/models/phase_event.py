from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..models.event_level import EventLevel
from typing import cast
from typing import Literal, cast

if TYPE_CHECKING:
  from ..models.phase_change import PhaseChange

T = TypeVar("T", bound="PhaseEvent")

@_attrs_define
class PhaseEvent:
    """ The job entered another phase.

        Attributes:
            id (str):
            object_ (Literal['event']):
            job (str):
            seq (int): 1, 2, 3, ... within the job, without gaps.
            type_ (Literal['phase']):
            created_at (str): RFC 3339.
            level (EventLevel): How much an event matters.
            message (str):
            data (PhaseChange): The job entered another phase.
     """

    id: str
    object_: Literal['event']
    job: str
    seq: int
    type_: Literal['phase']
    created_at: str
    level: EventLevel
    message: str
    data: PhaseChange
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.phase_change import PhaseChange # noqa: PLC0415
        id = self.id

        object_ = self.object_

        job = self.job

        seq = self.seq

        type_ = self.type_

        created_at = self.created_at

        level = self.level.value

        message = self.message

        data = self.data.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "id": id,
            "object": object_,
            "job": job,
            "seq": seq,
            "type": type_,
            "created_at": created_at,
            "level": level,
            "message": message,
            "data": data,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.phase_change import PhaseChange # noqa: PLC0415
        d = dict(src_dict)
        id = d.pop("id")

        object_ = cast(Literal['event'] , d.pop("object"))
        if object_ != 'event':
            raise ValueError(f"object must match const 'event', got '{object_}'")

        job = d.pop("job")

        seq = d.pop("seq")

        type_ = cast(Literal['phase'] , d.pop("type"))
        if type_ != 'phase':
            raise ValueError(f"type must match const 'phase', got '{type_}'")

        created_at = d.pop("created_at")

        level = EventLevel(d.pop("level"))

        message = d.pop("message")

        data = PhaseChange.from_dict(d.pop("data"))

        phase_event = cls(
            id=id,
            object_=object_,
            job=job,
            seq=seq,
            type_=type_,
            created_at=created_at,
            level=level,
            message=message,
            data=data,
        )

        phase_event.additional_properties = d
        return phase_event

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
