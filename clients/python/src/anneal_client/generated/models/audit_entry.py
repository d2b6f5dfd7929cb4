from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast
from typing import Literal, cast

T = TypeVar("T", bound="AuditEntry")

@_attrs_define
class AuditEntry:
    """ A request that wanted to change something, or that was refused for its key.

        Attributes:
            id (str):
            object_ (Literal['audit_entry']):
            created_at (int): Unix seconds.
            project (str): Empty for a request with an unknown key.
            method (str):
            path (str):
            status (int): HTTP status of the answer.
            request_id (str):
            requests (int): How many requests the entry stands for. Of refusals without a known key, and of what a key asks
                that changes
                nothing, a hundred are noted and then thirty a minute, each with the number of those since the one before; the
                rest
                are 1.
            key (None | str | Unset): Null for a request without a key, or with an unknown one.
            code (None | str | Unset): `code` of the problem, if it was refused.
     """

    id: str
    object_: Literal['audit_entry']
    created_at: int
    project: str
    method: str
    path: str
    status: int
    request_id: str
    requests: int
    key: None | str | Unset = UNSET
    code: None | str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = self.id

        object_ = self.object_

        created_at = self.created_at

        project = self.project

        method = self.method

        path = self.path

        status = self.status

        request_id = self.request_id

        requests = self.requests

        key: None | str | Unset
        if isinstance(self.key, Unset):
            key = UNSET
        else:
            key = self.key

        code: None | str | Unset
        if isinstance(self.code, Unset):
            code = UNSET
        else:
            code = self.code

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "id": id,
            "object": object_,
            "created_at": created_at,
            "project": project,
            "method": method,
            "path": path,
            "status": status,
            "request_id": request_id,
            "requests": requests,
        })
        if key is not UNSET:
            field_dict["key"] = key
        if code is not UNSET:
            field_dict["code"] = code

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        id = d.pop("id")

        object_ = cast(Literal['audit_entry'] , d.pop("object"))
        if object_ != 'audit_entry':
            raise ValueError(f"object must match const 'audit_entry', got '{object_}'")

        created_at = d.pop("created_at")

        project = d.pop("project")

        method = d.pop("method")

        path = d.pop("path")

        status = d.pop("status")

        request_id = d.pop("request_id")

        requests = d.pop("requests")

        def _parse_key(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        key = _parse_key(d.pop("key", UNSET))

        def _parse_code(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        code = _parse_code(d.pop("code", UNSET))

        audit_entry = cls(
            id=id,
            object_=object_,
            created_at=created_at,
            project=project,
            method=method,
            path=path,
            status=status,
            request_id=request_id,
            requests=requests,
            key=key,
            code=code,
        )

        audit_entry.additional_properties = d
        return audit_entry

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
