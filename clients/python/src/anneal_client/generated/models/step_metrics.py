from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from typing import cast

if TYPE_CHECKING:
  from ..models.step_metrics_values import StepMetricsValues

T = TypeVar("T", bound="StepMetrics")

@_attrs_define
class StepMetrics:
    """ All metrics of one optimizer step.

        Attributes:
            step (int): The step, counted from 1.
            values (StepMetricsValues): By the names of `GET /v1/metrics-catalog`; null where a value is not finite.
     """

    step: int
    values: StepMetricsValues
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.step_metrics_values import StepMetricsValues # noqa: PLC0415
        step = self.step

        values = self.values.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "step": step,
            "values": values,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.step_metrics_values import StepMetricsValues # noqa: PLC0415
        d = dict(src_dict)
        step = d.pop("step")

        values = StepMetricsValues.from_dict(d.pop("values"))

        step_metrics = cls(
            step=step,
            values=values,
        )

        step_metrics.additional_properties = d
        return step_metrics

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
