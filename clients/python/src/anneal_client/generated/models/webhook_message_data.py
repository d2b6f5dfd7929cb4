from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from typing import cast

if TYPE_CHECKING:
  from ..models.job_event import JobEvent
  from ..models.webhook_job import WebhookJob

T = TypeVar("T", bound="WebhookMessageData")

@_attrs_define
class WebhookMessageData:
    """ What a message tells.

        Attributes:
            event (JobEvent): One event of a job.
            job (WebhookJob): A job as it was when the message was made; it may have moved on since the event.
     """

    event: JobEvent
    job: WebhookJob
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.job_event import JobEvent # noqa: PLC0415
        from ..models.webhook_job import WebhookJob # noqa: PLC0415
        event = self.event.to_dict()

        job = self.job.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "event": event,
            "job": job,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.job_event import JobEvent # noqa: PLC0415
        from ..models.webhook_job import WebhookJob # noqa: PLC0415
        d = dict(src_dict)
        event = JobEvent.from_dict(d.pop("event"))

        job = WebhookJob.from_dict(d.pop("job"))

        webhook_message_data = cls(
            event=event,
            job=job,
        )

        webhook_message_data.additional_properties = d
        return webhook_message_data

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
