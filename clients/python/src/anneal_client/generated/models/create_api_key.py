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

T = TypeVar("T", bound="CreateApiKey")

@_attrs_define
class CreateApiKey:
    """ A key to make.

        Attributes:
            name (str): What people know it by, 1 to 200 characters.
            project (None | str | Unset): What it gives access to; made by being named. Your own when absent.
            scopes (list[str] | None | Unset): `read`, `write`, `admin`, `operator`, `code`, `agent`; `read` and `write`
                when absent, as far as you have
                them. The first key with `admin` is also the `operator`'s.
            expires_in_days (int | None | Unset): Days until it ends, 1 to 3650; it does not expire when absent.
            metadata (Metadata | Unset): Pairs of your own: at most 16, keys of at most 64 characters, values of at most
                512.
     """

    name: str
    project: None | str | Unset = UNSET
    scopes: list[str] | None | Unset = UNSET
    expires_in_days: int | None | Unset = UNSET
    metadata: Metadata | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        from ..models.metadata import Metadata # noqa: PLC0415
        name = self.name

        project: None | str | Unset
        if isinstance(self.project, Unset):
            project = UNSET
        else:
            project = self.project

        scopes: list[str] | None | Unset
        if isinstance(self.scopes, Unset):
            scopes = UNSET
        elif isinstance(self.scopes, list):
            scopes = self.scopes

        else:
            scopes = self.scopes

        expires_in_days: int | None | Unset
        if isinstance(self.expires_in_days, Unset):
            expires_in_days = UNSET
        else:
            expires_in_days = self.expires_in_days

        metadata: dict[str, Any] | Unset = UNSET
        if not isinstance(self.metadata, Unset):
            metadata = self.metadata.to_dict()

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "name": name,
        })
        if project is not UNSET:
            field_dict["project"] = project
        if scopes is not UNSET:
            field_dict["scopes"] = scopes
        if expires_in_days is not UNSET:
            field_dict["expires_in_days"] = expires_in_days
        if metadata is not UNSET:
            field_dict["metadata"] = metadata

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.metadata import Metadata # noqa: PLC0415
        d = dict(src_dict)
        name = d.pop("name")

        def _parse_project(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        project = _parse_project(d.pop("project", UNSET))

        def _parse_scopes(data: object) -> list[str] | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                scopes_type_0 = cast(list[str], data)

                return scopes_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[str] | None | Unset, data)

        scopes = _parse_scopes(d.pop("scopes", UNSET))

        def _parse_expires_in_days(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        expires_in_days = _parse_expires_in_days(d.pop("expires_in_days", UNSET))

        _metadata = d.pop("metadata", UNSET)
        metadata: Metadata | Unset
        if isinstance(_metadata,  Unset):
            metadata = UNSET
        else:
            metadata = Metadata.from_dict(_metadata)

        create_api_key = cls(
            name=name,
            project=project,
            scopes=scopes,
            expires_in_days=expires_in_days,
            metadata=metadata,
        )

        return create_api_key
