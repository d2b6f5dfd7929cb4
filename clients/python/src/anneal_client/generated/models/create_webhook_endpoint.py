from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast

if TYPE_CHECKING:
  from ..models.metadata import Metadata

T = TypeVar("T", bound="CreateWebhookEndpoint")

@_attrs_define
class CreateWebhookEndpoint:
    """ An endpoint to create.

        Attributes:
            url (str): An http or https URL at a public address, of at most 2048 bytes. Messages are posted to it.
            events (list[str] | Unset): Types of events to be told, or `["*"]` for all: `job.queued`, `job.starting`,
                `job.running`, `job.pausing`,
                `job.paused`, `job.cancelling`, `job.succeeded`, `job.failed`, `job.cancelled`, `checkpoint.created`,
                `evaluation.completed`, `rollout_set.created`.
            format_ (str | Unset): `standard`, or a sentence as a channel of `slack` or `discord` takes it at its address
                for incoming webhooks.
            description (None | str | Unset): Words for people.
            enabled (bool | Unset):
            metadata (Metadata | Unset): Pairs of your own: at most 16, keys of at most 64 characters, values of at most
                512.
     """

    url: str
    events: list[str] | Unset = UNSET
    format_: str | Unset = UNSET
    description: None | str | Unset = UNSET
    enabled: bool | Unset = UNSET
    metadata: Metadata | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        from ..models.metadata import Metadata # noqa: PLC0415
        url = self.url

        events: list[str] | Unset = UNSET
        if not isinstance(self.events, Unset):
            events = self.events

        format_ = self.format_

        description: None | str | Unset
        if isinstance(self.description, Unset):
            description = UNSET
        else:
            description = self.description

        enabled = self.enabled

        metadata: dict[str, Any] | Unset = UNSET
        if not isinstance(self.metadata, Unset):
            metadata = self.metadata.to_dict()

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "url": url,
        })
        if events is not UNSET:
            field_dict["events"] = events
        if format_ is not UNSET:
            field_dict["format"] = format_
        if description is not UNSET:
            field_dict["description"] = description
        if enabled is not UNSET:
            field_dict["enabled"] = enabled
        if metadata is not UNSET:
            field_dict["metadata"] = metadata

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.metadata import Metadata # noqa: PLC0415
        d = dict(src_dict)
        url = d.pop("url")

        events = cast(list[str], d.pop("events", UNSET))

        format_ = d.pop("format", UNSET)

        def _parse_description(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        description = _parse_description(d.pop("description", UNSET))

        enabled = d.pop("enabled", UNSET)

        _metadata = d.pop("metadata", UNSET)
        metadata: Metadata | Unset
        if isinstance(_metadata,  Unset):
            metadata = UNSET
        else:
            metadata = Metadata.from_dict(_metadata)

        create_webhook_endpoint = cls(
            url=url,
            events=events,
            format_=format_,
            description=description,
            enabled=enabled,
            metadata=metadata,
        )

        return create_webhook_endpoint
