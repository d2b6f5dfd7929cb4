from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="RegisteredHost")

@_attrs_define
class RegisteredHost:
    """ What an agent must know of its server.

        Attributes:
            name (str):
            protocol (int): The number of the protocol that the server speaks.
            version (str): Of the server's program.
            lease_seconds (int): A worker that was not heard of for so long loses its jobs.
            now (int): Unix milliseconds, by the server's clock.
     """

    name: str
    protocol: int
    version: str
    lease_seconds: int
    now: int
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        name = self.name

        protocol = self.protocol

        version = self.version

        lease_seconds = self.lease_seconds

        now = self.now

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "name": name,
            "protocol": protocol,
            "version": version,
            "lease_seconds": lease_seconds,
            "now": now,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        name = d.pop("name")

        protocol = d.pop("protocol")

        version = d.pop("version")

        lease_seconds = d.pop("lease_seconds")

        now = d.pop("now")

        registered_host = cls(
            name=name,
            protocol=protocol,
            version=version,
            lease_seconds=lease_seconds,
            now=now,
        )

        registered_host.additional_properties = d
        return registered_host

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
