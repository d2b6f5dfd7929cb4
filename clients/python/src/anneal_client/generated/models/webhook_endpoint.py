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
  from ..models.metadata import Metadata

T = TypeVar("T", bound="WebhookEndpoint")

@_attrs_define
class WebhookEndpoint:
    """ A server that is told what happens to jobs.

        Attributes:
            id (str):
            object_ (Literal['webhook_endpoint']):
            url (str):
            events (list[str]): The types of events it is told; `*` stands for all.
            format_ (str): `standard`, `slack` or `discord`.
            enabled (bool): Nothing is sent to an endpoint that is not enabled, and it never gets what happens meanwhile.
            created_at (int): Unix seconds.
            metadata (Metadata): Pairs of your own: at most 16, keys of at most 64 characters, values of at most 512.
            description (None | str | Unset):
            disabled_reason (None | str | Unset): Why the server has disabled it: the receiver answered 410, or nothing has
                arrived for three days.
            secret (None | str | Unset): What the receiver checks signatures with; shown when the endpoint is created and
                when its secret is rotated, and
                never again.
            previous_secret_expires_at (int | None | Unset): Until when messages carry a signature by the secret before the
                last rotation too. Unix seconds.
     """

    id: str
    object_: Literal['webhook_endpoint']
    url: str
    events: list[str]
    format_: str
    enabled: bool
    created_at: int
    metadata: Metadata
    description: None | str | Unset = UNSET
    disabled_reason: None | str | Unset = UNSET
    secret: None | str | Unset = UNSET
    previous_secret_expires_at: int | None | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.metadata import Metadata # noqa: PLC0415
        id = self.id

        object_ = self.object_

        url = self.url

        events = self.events

        format_ = self.format_

        enabled = self.enabled

        created_at = self.created_at

        metadata = self.metadata.to_dict()

        description: None | str | Unset
        if isinstance(self.description, Unset):
            description = UNSET
        else:
            description = self.description

        disabled_reason: None | str | Unset
        if isinstance(self.disabled_reason, Unset):
            disabled_reason = UNSET
        else:
            disabled_reason = self.disabled_reason

        secret: None | str | Unset
        if isinstance(self.secret, Unset):
            secret = UNSET
        else:
            secret = self.secret

        previous_secret_expires_at: int | None | Unset
        if isinstance(self.previous_secret_expires_at, Unset):
            previous_secret_expires_at = UNSET
        else:
            previous_secret_expires_at = self.previous_secret_expires_at

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "id": id,
            "object": object_,
            "url": url,
            "events": events,
            "format": format_,
            "enabled": enabled,
            "created_at": created_at,
            "metadata": metadata,
        })
        if description is not UNSET:
            field_dict["description"] = description
        if disabled_reason is not UNSET:
            field_dict["disabled_reason"] = disabled_reason
        if secret is not UNSET:
            field_dict["secret"] = secret
        if previous_secret_expires_at is not UNSET:
            field_dict["previous_secret_expires_at"] = previous_secret_expires_at

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.metadata import Metadata # noqa: PLC0415
        d = dict(src_dict)
        id = d.pop("id")

        object_ = cast(Literal['webhook_endpoint'] , d.pop("object"))
        if object_ != 'webhook_endpoint':
            raise ValueError(f"object must match const 'webhook_endpoint', got '{object_}'")

        url = d.pop("url")

        events = cast(list[str], d.pop("events"))

        format_ = d.pop("format")

        enabled = d.pop("enabled")

        created_at = d.pop("created_at")

        metadata = Metadata.from_dict(d.pop("metadata"))

        def _parse_description(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        description = _parse_description(d.pop("description", UNSET))

        def _parse_disabled_reason(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        disabled_reason = _parse_disabled_reason(d.pop("disabled_reason", UNSET))

        def _parse_secret(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        secret = _parse_secret(d.pop("secret", UNSET))

        def _parse_previous_secret_expires_at(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        previous_secret_expires_at = _parse_previous_secret_expires_at(d.pop("previous_secret_expires_at", UNSET))

        webhook_endpoint = cls(
            id=id,
            object_=object_,
            url=url,
            events=events,
            format_=format_,
            enabled=enabled,
            created_at=created_at,
            metadata=metadata,
            description=description,
            disabled_reason=disabled_reason,
            secret=secret,
            previous_secret_expires_at=previous_secret_expires_at,
        )

        webhook_endpoint.additional_properties = d
        return webhook_endpoint

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
