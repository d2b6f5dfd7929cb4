from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from typing import cast

if TYPE_CHECKING:
  from ..models.reported_event import ReportedEvent

T = TypeVar("T", bound="EventBatch")

@_attrs_define
class EventBatch:
    """ Events of an attempt, in order.

        Attributes:
            first (int): How many events of the attempt were reported before. What was written already is not written again.
            events (list[ReportedEvent]):
     """

    first: int
    events: list[ReportedEvent]

    def to_dict(self) -> dict[str, Any]:
        from ..models.reported_event import ReportedEvent # noqa: PLC0415
        first = self.first

        events = []
        for events_item_data in self.events:
            events_item = events_item_data.to_dict()
            events.append(events_item)

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "first": first,
            "events": events,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.reported_event import ReportedEvent # noqa: PLC0415
        d = dict(src_dict)
        first = d.pop("first")

        events = []
        _events = d.pop("events")
        for events_item_data in (_events):
            events_item = ReportedEvent.from_dict(events_item_data)

            events.append(events_item)

        event_batch = cls(
            first=first,
            events=events,
        )

        return event_batch
