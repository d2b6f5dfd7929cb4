from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from typing import cast
from typing import Literal, cast

if TYPE_CHECKING:
  from ..models.queue_counts import QueueCounts
  from ..models.queued_job import QueuedJob

T = TypeVar("T", bound="Queue")

@_attrs_define
class Queue:
    """ What waits and what runs.

        Attributes:
            object_ (Literal['queue']):
            counts (QueueCounts): Jobs by status.
            waiting (list[QueuedJob]): The first 100 waiting jobs by priority, then in the order of submission.
     """

    object_: Literal['queue']
    counts: QueueCounts
    waiting: list[QueuedJob]
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.queue_counts import QueueCounts # noqa: PLC0415
        from ..models.queued_job import QueuedJob # noqa: PLC0415
        object_ = self.object_

        counts = self.counts.to_dict()

        waiting = []
        for waiting_item_data in self.waiting:
            waiting_item = waiting_item_data.to_dict()
            waiting.append(waiting_item)

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "object": object_,
            "counts": counts,
            "waiting": waiting,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.queue_counts import QueueCounts # noqa: PLC0415
        from ..models.queued_job import QueuedJob # noqa: PLC0415
        d = dict(src_dict)
        object_ = cast(Literal['queue'] , d.pop("object"))
        if object_ != 'queue':
            raise ValueError(f"object must match const 'queue', got '{object_}'")

        counts = QueueCounts.from_dict(d.pop("counts"))

        waiting = []
        _waiting = d.pop("waiting")
        for waiting_item_data in (_waiting):
            waiting_item = QueuedJob.from_dict(waiting_item_data)

            waiting.append(waiting_item)

        queue = cls(
            object_=object_,
            counts=counts,
            waiting=waiting,
        )

        queue.additional_properties = d
        return queue

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
