from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast

T = TypeVar("T", bound="Limits")

@_attrs_define
class Limits:
    """ What a project may use; where a field is null or absent, what the server's settings say, and else no limit.

        Attributes:
            share (int | None | Unset): How often its jobs start where those of other projects wait as well: twice as often
                with twice the share; null: 1.
            requests_per_minute (int | None | Unset): Requests a minute of each of its keys.
            max_unfinished_jobs (int | None | Unset): Jobs that are not final.
            max_devices (int | None | Unset): Devices that its jobs hold at the same time.
            max_storage_bytes (int | None | Unset): Bytes of its data sets, checkpoints and rollout sets.
     """

    share: int | None | Unset = UNSET
    requests_per_minute: int | None | Unset = UNSET
    max_unfinished_jobs: int | None | Unset = UNSET
    max_devices: int | None | Unset = UNSET
    max_storage_bytes: int | None | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        share: int | None | Unset
        if isinstance(self.share, Unset):
            share = UNSET
        else:
            share = self.share

        requests_per_minute: int | None | Unset
        if isinstance(self.requests_per_minute, Unset):
            requests_per_minute = UNSET
        else:
            requests_per_minute = self.requests_per_minute

        max_unfinished_jobs: int | None | Unset
        if isinstance(self.max_unfinished_jobs, Unset):
            max_unfinished_jobs = UNSET
        else:
            max_unfinished_jobs = self.max_unfinished_jobs

        max_devices: int | None | Unset
        if isinstance(self.max_devices, Unset):
            max_devices = UNSET
        else:
            max_devices = self.max_devices

        max_storage_bytes: int | None | Unset
        if isinstance(self.max_storage_bytes, Unset):
            max_storage_bytes = UNSET
        else:
            max_storage_bytes = self.max_storage_bytes

        field_dict: dict[str, Any] = {}

        field_dict.update({
        })
        if share is not UNSET:
            field_dict["share"] = share
        if requests_per_minute is not UNSET:
            field_dict["requests_per_minute"] = requests_per_minute
        if max_unfinished_jobs is not UNSET:
            field_dict["max_unfinished_jobs"] = max_unfinished_jobs
        if max_devices is not UNSET:
            field_dict["max_devices"] = max_devices
        if max_storage_bytes is not UNSET:
            field_dict["max_storage_bytes"] = max_storage_bytes

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        def _parse_share(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        share = _parse_share(d.pop("share", UNSET))

        def _parse_requests_per_minute(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        requests_per_minute = _parse_requests_per_minute(d.pop("requests_per_minute", UNSET))

        def _parse_max_unfinished_jobs(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        max_unfinished_jobs = _parse_max_unfinished_jobs(d.pop("max_unfinished_jobs", UNSET))

        def _parse_max_devices(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        max_devices = _parse_max_devices(d.pop("max_devices", UNSET))

        def _parse_max_storage_bytes(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        max_storage_bytes = _parse_max_storage_bytes(d.pop("max_storage_bytes", UNSET))

        limits = cls(
            share=share,
            requests_per_minute=requests_per_minute,
            max_unfinished_jobs=max_unfinished_jobs,
            max_devices=max_devices,
            max_storage_bytes=max_storage_bytes,
        )

        return limits
