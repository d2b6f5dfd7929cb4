from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast

T = TypeVar("T", bound="ResourceSpec")

@_attrs_define
class ResourceSpec:
    """ What a job runs on.

        Attributes:
            devices (int | Unset): How many devices the job holds from its begin to its end. It waits until as many are free
                together. Default: 1.
            hosts (int | Unset): How many machines the devices are on, as many on each.
            pool (None | str | Unset): The pool whose machines the job runs on, as their agents or launcher call it; without
                it on any. A server's own devices
                are in none.
            elastic (bool | Unset): Whether each attempt takes as many of the devices as are free when it begins, at least
                one. Results depend on how many
                that were, within rounding.
            storage_wait_seconds (int | Unset): How long the job waits for space, in seconds, each time that it finds the
                disk full; with 0 it fails at once.
            share_base (bool | Unset): Whether the job runs beside others with the same frozen weights, which are then
                loaded once; of jobs that train,
                those with an `adapter`. Results are the same bits as alone.
     """

    devices: int | Unset = 1
    hosts: int | Unset = UNSET
    pool: None | str | Unset = UNSET
    elastic: bool | Unset = UNSET
    storage_wait_seconds: int | Unset = UNSET
    share_base: bool | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        devices = self.devices

        hosts = self.hosts

        pool: None | str | Unset
        if isinstance(self.pool, Unset):
            pool = UNSET
        else:
            pool = self.pool

        elastic = self.elastic

        storage_wait_seconds = self.storage_wait_seconds

        share_base = self.share_base

        field_dict: dict[str, Any] = {}

        field_dict.update({
        })
        if devices is not UNSET:
            field_dict["devices"] = devices
        if hosts is not UNSET:
            field_dict["hosts"] = hosts
        if pool is not UNSET:
            field_dict["pool"] = pool
        if elastic is not UNSET:
            field_dict["elastic"] = elastic
        if storage_wait_seconds is not UNSET:
            field_dict["storage_wait_seconds"] = storage_wait_seconds
        if share_base is not UNSET:
            field_dict["share_base"] = share_base

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        devices = d.pop("devices", UNSET)

        hosts = d.pop("hosts", UNSET)

        def _parse_pool(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        pool = _parse_pool(d.pop("pool", UNSET))

        elastic = d.pop("elastic", UNSET)

        storage_wait_seconds = d.pop("storage_wait_seconds", UNSET)

        share_base = d.pop("share_base", UNSET)

        resource_spec = cls(
            devices=devices,
            hosts=hosts,
            pool=pool,
            elastic=elastic,
            storage_wait_seconds=storage_wait_seconds,
            share_base=share_base,
        )

        return resource_spec
