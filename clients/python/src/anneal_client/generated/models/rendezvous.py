from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="Rendezvous")

@_attrs_define
class Rendezvous:
    """ Where the first worker of a job waits for those of other machines.

        Attributes:
            address (str): An IP address and a port, to which TCP connections are made.
            secret (str): What both sides prove to each other that they know: 64 hexadecimal digits, made up for this
                attempt.
     """

    address: str
    secret: str

    def to_dict(self) -> dict[str, Any]:
        address = self.address

        secret = self.secret

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "address": address,
            "secret": secret,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        address = d.pop("address")

        secret = d.pop("secret")

        rendezvous = cls(
            address=address,
            secret=secret,
        )

        return rendezvous
