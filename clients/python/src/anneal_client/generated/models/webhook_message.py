from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from typing import cast

if TYPE_CHECKING:
  from ..models.webhook_message_data import WebhookMessageData

T = TypeVar("T", bound="WebhookMessage")

@_attrs_define
class WebhookMessage:
    """ The body of a message to a webhook endpoint.

        Attributes:
            type_ (str): What has happened, such as `job.succeeded`; `webhook.test` for a test.
            timestamp (str): When it happened, RFC 3339.
            data (WebhookMessageData): What a message tells: the event and its job, or in a test the endpoint.
     """

    type_: str
    timestamp: str
    data: WebhookMessageData
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.webhook_message_data import WebhookMessageData # noqa: PLC0415
        type_ = self.type_

        timestamp = self.timestamp

        data = self.data.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "type": type_,
            "timestamp": timestamp,
            "data": data,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.webhook_message_data import WebhookMessageData # noqa: PLC0415
        d = dict(src_dict)
        type_ = d.pop("type")

        timestamp = d.pop("timestamp")

        data = WebhookMessageData.from_dict(d.pop("data"))

        webhook_message = cls(
            type_=type_,
            timestamp=timestamp,
            data=data,
        )

        webhook_message.additional_properties = d
        return webhook_message

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
