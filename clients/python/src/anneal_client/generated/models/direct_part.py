from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from typing import Literal, cast

T = TypeVar("T", bound="DirectPart")

@_attrs_define
class DirectPart:
    """ A part of an upload, and where it is to be sent.

        Attributes:
            id (str):
            object_ (Literal['upload.part']):
            created_at (int): Unix seconds.
            upload_id (str):
            url (str): Whoever has it can send this part. Send it with `PUT`, a `Content-Length` and no other key.
            expires_at (int): When the address is good no more, in Unix seconds.
     """

    id: str
    object_: Literal['upload.part']
    created_at: int
    upload_id: str
    url: str
    expires_at: int
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = self.id

        object_ = self.object_

        created_at = self.created_at

        upload_id = self.upload_id

        url = self.url

        expires_at = self.expires_at

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "id": id,
            "object": object_,
            "created_at": created_at,
            "upload_id": upload_id,
            "url": url,
            "expires_at": expires_at,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        id = d.pop("id")

        object_ = cast(Literal['upload.part'] , d.pop("object"))
        if object_ != 'upload.part':
            raise ValueError(f"object must match const 'upload.part', got '{object_}'")

        created_at = d.pop("created_at")

        upload_id = d.pop("upload_id")

        url = d.pop("url")

        expires_at = d.pop("expires_at")

        direct_part = cls(
            id=id,
            object_=object_,
            created_at=created_at,
            upload_id=upload_id,
            url=url,
            expires_at=expires_at,
        )

        direct_part.additional_properties = d
        return direct_part

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
