from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast
from typing import Literal, cast

T = TypeVar("T", bound="Session")

@_attrs_define
class Session:
    """ Who makes a request, and what they may do.

        Attributes:
            object_ (Literal['session']):
            project (str): The project whose things the caller sees.
            scopes (list[str]): `read`, `write`, `admin`, `operator`, `code`, `agent`; all of them on a server without keys.
            version (str): The server's version, so that a page notices when it is another's.
            key (None | str | Unset): The key that the caller has shown; null on a server without keys.
            name (None | str | Unset): The key's name; null on a server without keys.
            expires_at (int | None | Unset): Unix seconds at which the session ends by itself; null: the caller has none,
                and shows a key or needs none.
     """

    object_: Literal['session']
    project: str
    scopes: list[str]
    version: str
    key: None | str | Unset = UNSET
    name: None | str | Unset = UNSET
    expires_at: int | None | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        object_ = self.object_

        project = self.project

        scopes = self.scopes

        version = self.version

        key: None | str | Unset
        if isinstance(self.key, Unset):
            key = UNSET
        else:
            key = self.key

        name: None | str | Unset
        if isinstance(self.name, Unset):
            name = UNSET
        else:
            name = self.name

        expires_at: int | None | Unset
        if isinstance(self.expires_at, Unset):
            expires_at = UNSET
        else:
            expires_at = self.expires_at

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "object": object_,
            "project": project,
            "scopes": scopes,
            "version": version,
        })
        if key is not UNSET:
            field_dict["key"] = key
        if name is not UNSET:
            field_dict["name"] = name
        if expires_at is not UNSET:
            field_dict["expires_at"] = expires_at

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        object_ = cast(Literal['session'] , d.pop("object"))
        if object_ != 'session':
            raise ValueError(f"object must match const 'session', got '{object_}'")

        project = d.pop("project")

        scopes = cast(list[str], d.pop("scopes"))

        version = d.pop("version")

        def _parse_key(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        key = _parse_key(d.pop("key", UNSET))

        def _parse_name(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        name = _parse_name(d.pop("name", UNSET))

        def _parse_expires_at(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        expires_at = _parse_expires_at(d.pop("expires_at", UNSET))

        session = cls(
            object_=object_,
            project=project,
            scopes=scopes,
            version=version,
            key=key,
            name=name,
            expires_at=expires_at,
        )

        session.additional_properties = d
        return session

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
