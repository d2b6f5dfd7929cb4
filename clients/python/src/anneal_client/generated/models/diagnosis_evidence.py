from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="DiagnosisEvidence")

@_attrs_define
class DiagnosisEvidence:
    """ A number that a diagnosis rests on.

        Attributes:
            metric (str):
            step (int): The step at which it was seen: the last one of a stretch.
            value (float):
            limit (float): What the value was held against.
     """

    metric: str
    step: int
    value: float
    limit: float
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        metric = self.metric

        step = self.step

        value = self.value

        limit = self.limit

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "metric": metric,
            "step": step,
            "value": value,
            "limit": limit,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        metric = d.pop("metric")

        step = d.pop("step")

        value = d.pop("value")

        limit = d.pop("limit")

        diagnosis_evidence = cls(
            metric=metric,
            step=step,
            value=value,
            limit=limit,
        )

        diagnosis_evidence.additional_properties = d
        return diagnosis_evidence

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
