from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="MlflowMetric")

@_attrs_define
class MlflowMetric:
    """ A value of a metric.

        Attributes:
            key (str):
            value (float):
            timestamp (int): Unix milliseconds: when the job began, as it is not kept when a step was taken.
            step (int):
     """

    key: str
    value: float
    timestamp: int
    step: int
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        key = self.key

        value = self.value

        timestamp = self.timestamp

        step = self.step

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "key": key,
            "value": value,
            "timestamp": timestamp,
            "step": step,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        key = d.pop("key")

        value = d.pop("value")

        timestamp = d.pop("timestamp")

        step = d.pop("step")

        mlflow_metric = cls(
            key=key,
            value=value,
            timestamp=timestamp,
            step=step,
        )

        mlflow_metric.additional_properties = d
        return mlflow_metric

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
