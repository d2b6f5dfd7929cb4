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

T = TypeVar("T", bound="ApiKey")

@_attrs_define
class ApiKey:
    """ A key, without its secret.

        Attributes:
            id (str):
            object_ (Literal['api_key']):
            name (str):
            project (str): What the key gives access to.
            scopes (list[str]): `read`, `write`, `admin`, `operator`, `code`, `agent`.
            prefix (str): The first characters of the secret, to recognise it by.
            created_at (int): Unix seconds.
            metadata (Metadata): Pairs of your own: at most 16, keys of at most 64 characters, values of at most 512.
            expires_at (int | None | Unset): Unix seconds; null: it does not expire.
            revoked_at (int | None | Unset): Unix seconds; null: it is not revoked.
            last_used_at (int | None | Unset): Unix seconds, to the minute.
            key (None | str | Unset): The secret itself. It is shown when the key is made, and never again.
     """

    id: str
    object_: Literal['api_key']
    name: str
    project: str
    scopes: list[str]
    prefix: str
    created_at: int
    metadata: Metadata
    expires_at: int | None | Unset = UNSET
    revoked_at: int | None | Unset = UNSET
    last_used_at: int | None | Unset = UNSET
    key: None | str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.metadata import Metadata # noqa: PLC0415
        id = self.id

        object_ = self.object_

        name = self.name

        project = self.project

        scopes = self.scopes

        prefix = self.prefix

        created_at = self.created_at

        metadata = self.metadata.to_dict()

        expires_at: int | None | Unset
        if isinstance(self.expires_at, Unset):
            expires_at = UNSET
        else:
            expires_at = self.expires_at

        revoked_at: int | None | Unset
        if isinstance(self.revoked_at, Unset):
            revoked_at = UNSET
        else:
            revoked_at = self.revoked_at

        last_used_at: int | None | Unset
        if isinstance(self.last_used_at, Unset):
            last_used_at = UNSET
        else:
            last_used_at = self.last_used_at

        key: None | str | Unset
        if isinstance(self.key, Unset):
            key = UNSET
        else:
            key = self.key

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "id": id,
            "object": object_,
            "name": name,
            "project": project,
            "scopes": scopes,
            "prefix": prefix,
            "created_at": created_at,
            "metadata": metadata,
        })
        if expires_at is not UNSET:
            field_dict["expires_at"] = expires_at
        if revoked_at is not UNSET:
            field_dict["revoked_at"] = revoked_at
        if last_used_at is not UNSET:
            field_dict["last_used_at"] = last_used_at
        if key is not UNSET:
            field_dict["key"] = key

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.metadata import Metadata # noqa: PLC0415
        d = dict(src_dict)
        id = d.pop("id")

        object_ = cast(Literal['api_key'] , d.pop("object"))
        if object_ != 'api_key':
            raise ValueError(f"object must match const 'api_key', got '{object_}'")

        name = d.pop("name")

        project = d.pop("project")

        scopes = cast(list[str], d.pop("scopes"))

        prefix = d.pop("prefix")

        created_at = d.pop("created_at")

        metadata = Metadata.from_dict(d.pop("metadata"))

        def _parse_expires_at(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        expires_at = _parse_expires_at(d.pop("expires_at", UNSET))

        def _parse_revoked_at(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        revoked_at = _parse_revoked_at(d.pop("revoked_at", UNSET))

        def _parse_last_used_at(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        last_used_at = _parse_last_used_at(d.pop("last_used_at", UNSET))

        def _parse_key(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        key = _parse_key(d.pop("key", UNSET))

        api_key = cls(
            id=id,
            object_=object_,
            name=name,
            project=project,
            scopes=scopes,
            prefix=prefix,
            created_at=created_at,
            metadata=metadata,
            expires_at=expires_at,
            revoked_at=revoked_at,
            last_used_at=last_used_at,
            key=key,
        )

        api_key.additional_properties = d
        return api_key

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
