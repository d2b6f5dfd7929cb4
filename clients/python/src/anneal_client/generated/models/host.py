from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast
from typing import Literal, cast

T = TypeVar("T", bound="Host")

@_attrs_define
class Host:
    """ A machine that runs jobs: one with a server, or an agent's.

        Attributes:
            id (str): Its name, with which the names of its devices begin; `local` has none before them.
            object_ (Literal['host']):
            kind (str): `server`, or `agent`.
            status (str): `ready`; `cordoned`, and takes no new jobs; `draining`, and lets go of those that it has;
                `drained`; `gone`, and was not
                seen for 30 seconds.
            version (str): Of its program.
            devices (list[str]): Its devices.
            jobs (list[str]): The jobs that it runs, of those that the caller sees.
            started_at (int): Unix seconds at which its server or agent began.
            seen_at (int): Unix seconds at which it was seen last.
            pool (None | str | Unset): What its operator calls machines like it.
            cordoned_at (int | None | Unset): Unix seconds since when it takes no new jobs.
     """

    id: str
    object_: Literal['host']
    kind: str
    status: str
    version: str
    devices: list[str]
    jobs: list[str]
    started_at: int
    seen_at: int
    pool: None | str | Unset = UNSET
    cordoned_at: int | None | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = self.id

        object_ = self.object_

        kind = self.kind

        status = self.status

        version = self.version

        devices = self.devices

        jobs = self.jobs

        started_at = self.started_at

        seen_at = self.seen_at

        pool: None | str | Unset
        if isinstance(self.pool, Unset):
            pool = UNSET
        else:
            pool = self.pool

        cordoned_at: int | None | Unset
        if isinstance(self.cordoned_at, Unset):
            cordoned_at = UNSET
        else:
            cordoned_at = self.cordoned_at

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "id": id,
            "object": object_,
            "kind": kind,
            "status": status,
            "version": version,
            "devices": devices,
            "jobs": jobs,
            "started_at": started_at,
            "seen_at": seen_at,
        })
        if pool is not UNSET:
            field_dict["pool"] = pool
        if cordoned_at is not UNSET:
            field_dict["cordoned_at"] = cordoned_at

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        id = d.pop("id")

        object_ = cast(Literal['host'] , d.pop("object"))
        if object_ != 'host':
            raise ValueError(f"object must match const 'host', got '{object_}'")

        kind = d.pop("kind")

        status = d.pop("status")

        version = d.pop("version")

        devices = cast(list[str], d.pop("devices"))

        jobs = cast(list[str], d.pop("jobs"))

        started_at = d.pop("started_at")

        seen_at = d.pop("seen_at")

        def _parse_pool(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        pool = _parse_pool(d.pop("pool", UNSET))

        def _parse_cordoned_at(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        cordoned_at = _parse_cordoned_at(d.pop("cordoned_at", UNSET))

        host = cls(
            id=id,
            object_=object_,
            kind=kind,
            status=status,
            version=version,
            devices=devices,
            jobs=jobs,
            started_at=started_at,
            seen_at=seen_at,
            pool=pool,
            cordoned_at=cordoned_at,
        )

        host.additional_properties = d
        return host

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
