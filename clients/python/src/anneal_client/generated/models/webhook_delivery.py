from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast
from typing import Literal, cast

if TYPE_CHECKING:
  from ..models.delivery_attempt import DeliveryAttempt
  from ..models.json_object import JsonObject

T = TypeVar("T", bound="WebhookDelivery")

@_attrs_define
class WebhookDelivery:
    """ A message to one endpoint.

        Attributes:
            id (str): The receiver sees it as `webhook-id`.
            object_ (Literal['webhook_delivery']):
            webhook_endpoint (str):
            type_ (str): The type of the message.
            status (str): `pending` until the receiver answers with 2xx (`succeeded`) or all tries were in vain (`failed`).
            attempt_count (int): How many tries there were.
            attempts (list[DeliveryAttempt]): The newest tries, at most 20, oldest first.
            payload (JsonObject): Any JSON object.
            created_at (int): Unix seconds.
            event (None | str | Unset): The event that it tells; null for a test.
            next_attempt_at (int | None | Unset): When it is tried next; null unless it is pending. Unix seconds.
     """

    id: str
    object_: Literal['webhook_delivery']
    webhook_endpoint: str
    type_: str
    status: str
    attempt_count: int
    attempts: list[DeliveryAttempt]
    payload: JsonObject
    created_at: int
    event: None | str | Unset = UNSET
    next_attempt_at: int | None | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.delivery_attempt import DeliveryAttempt # noqa: PLC0415
        from ..models.json_object import JsonObject # noqa: PLC0415
        id = self.id

        object_ = self.object_

        webhook_endpoint = self.webhook_endpoint

        type_ = self.type_

        status = self.status

        attempt_count = self.attempt_count

        attempts = []
        for attempts_item_data in self.attempts:
            attempts_item = attempts_item_data.to_dict()
            attempts.append(attempts_item)

        payload = self.payload.to_dict()

        created_at = self.created_at

        event: None | str | Unset
        if isinstance(self.event, Unset):
            event = UNSET
        else:
            event = self.event

        next_attempt_at: int | None | Unset
        if isinstance(self.next_attempt_at, Unset):
            next_attempt_at = UNSET
        else:
            next_attempt_at = self.next_attempt_at

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "id": id,
            "object": object_,
            "webhook_endpoint": webhook_endpoint,
            "type": type_,
            "status": status,
            "attempt_count": attempt_count,
            "attempts": attempts,
            "payload": payload,
            "created_at": created_at,
        })
        if event is not UNSET:
            field_dict["event"] = event
        if next_attempt_at is not UNSET:
            field_dict["next_attempt_at"] = next_attempt_at

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.delivery_attempt import DeliveryAttempt # noqa: PLC0415
        from ..models.json_object import JsonObject # noqa: PLC0415
        d = dict(src_dict)
        id = d.pop("id")

        object_ = cast(Literal['webhook_delivery'] , d.pop("object"))
        if object_ != 'webhook_delivery':
            raise ValueError(f"object must match const 'webhook_delivery', got '{object_}'")

        webhook_endpoint = d.pop("webhook_endpoint")

        type_ = d.pop("type")

        status = d.pop("status")

        attempt_count = d.pop("attempt_count")

        attempts = []
        _attempts = d.pop("attempts")
        for attempts_item_data in (_attempts):
            attempts_item = DeliveryAttempt.from_dict(attempts_item_data)

            attempts.append(attempts_item)

        payload = JsonObject.from_dict(d.pop("payload"))

        created_at = d.pop("created_at")

        def _parse_event(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        event = _parse_event(d.pop("event", UNSET))

        def _parse_next_attempt_at(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        next_attempt_at = _parse_next_attempt_at(d.pop("next_attempt_at", UNSET))

        webhook_delivery = cls(
            id=id,
            object_=object_,
            webhook_endpoint=webhook_endpoint,
            type_=type_,
            status=status,
            attempt_count=attempt_count,
            attempts=attempts,
            payload=payload,
            created_at=created_at,
            event=event,
            next_attempt_at=next_attempt_at,
        )

        webhook_delivery.additional_properties = d
        return webhook_delivery

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
