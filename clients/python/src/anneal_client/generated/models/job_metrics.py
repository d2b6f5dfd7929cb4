from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from typing import cast
from typing import Literal, cast

if TYPE_CHECKING:
  from ..models.metric_series import MetricSeries

T = TypeVar("T", bound="JobMetrics")

@_attrs_define
class JobMetrics:
    """ Metric series of a job.

        Attributes:
            object_ (Literal['metrics']):
            job (str):
            series (list[MetricSeries]):
     """

    object_: Literal['metrics']
    job: str
    series: list[MetricSeries]
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.metric_series import MetricSeries # noqa: PLC0415
        object_ = self.object_

        job = self.job

        series = []
        for series_item_data in self.series:
            series_item = series_item_data.to_dict()
            series.append(series_item)

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "object": object_,
            "job": job,
            "series": series,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.metric_series import MetricSeries # noqa: PLC0415
        d = dict(src_dict)
        object_ = cast(Literal['metrics'] , d.pop("object"))
        if object_ != 'metrics':
            raise ValueError(f"object must match const 'metrics', got '{object_}'")

        job = d.pop("job")

        series = []
        _series = d.pop("series")
        for series_item_data in (_series):
            series_item = MetricSeries.from_dict(series_item_data)

            series.append(series_item)

        job_metrics = cls(
            object_=object_,
            job=job,
            series=series,
        )

        job_metrics.additional_properties = d
        return job_metrics

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
