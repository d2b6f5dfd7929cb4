from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast

T = TypeVar("T", bound="AuditLatency")

@_attrs_define
class AuditLatency:
    """ How long verdicts took, in seconds.

        Attributes:
            verdicts (int):
            p50_seconds (float | None | Unset):
            p95_seconds (float | None | Unset):
            p99_seconds (float | None | Unset):
            max_seconds (float | None | Unset):
     """

    verdicts: int
    p50_seconds: float | None | Unset = UNSET
    p95_seconds: float | None | Unset = UNSET
    p99_seconds: float | None | Unset = UNSET
    max_seconds: float | None | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        verdicts = self.verdicts

        p50_seconds: float | None | Unset
        if isinstance(self.p50_seconds, Unset):
            p50_seconds = UNSET
        else:
            p50_seconds = self.p50_seconds

        p95_seconds: float | None | Unset
        if isinstance(self.p95_seconds, Unset):
            p95_seconds = UNSET
        else:
            p95_seconds = self.p95_seconds

        p99_seconds: float | None | Unset
        if isinstance(self.p99_seconds, Unset):
            p99_seconds = UNSET
        else:
            p99_seconds = self.p99_seconds

        max_seconds: float | None | Unset
        if isinstance(self.max_seconds, Unset):
            max_seconds = UNSET
        else:
            max_seconds = self.max_seconds

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "verdicts": verdicts,
        })
        if p50_seconds is not UNSET:
            field_dict["p50_seconds"] = p50_seconds
        if p95_seconds is not UNSET:
            field_dict["p95_seconds"] = p95_seconds
        if p99_seconds is not UNSET:
            field_dict["p99_seconds"] = p99_seconds
        if max_seconds is not UNSET:
            field_dict["max_seconds"] = max_seconds

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        verdicts = d.pop("verdicts")

        def _parse_p50_seconds(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        p50_seconds = _parse_p50_seconds(d.pop("p50_seconds", UNSET))

        def _parse_p95_seconds(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        p95_seconds = _parse_p95_seconds(d.pop("p95_seconds", UNSET))

        def _parse_p99_seconds(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        p99_seconds = _parse_p99_seconds(d.pop("p99_seconds", UNSET))

        def _parse_max_seconds(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        max_seconds = _parse_max_seconds(d.pop("max_seconds", UNSET))

        audit_latency = cls(
            verdicts=verdicts,
            p50_seconds=p50_seconds,
            p95_seconds=p95_seconds,
            p99_seconds=p99_seconds,
            max_seconds=max_seconds,
        )

        audit_latency.additional_properties = d
        return audit_latency

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
