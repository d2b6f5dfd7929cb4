from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from typing import cast

if TYPE_CHECKING:
  from ..models.mlflow_metric import MlflowMetric
  from ..models.mlflow_pair import MlflowPair

T = TypeVar("T", bound="MlflowRunData")

@_attrs_define
class MlflowRunData:
    """
        Attributes:
            metrics (list[MlflowMetric]): The newest value of each metric.
            params (list[MlflowPair]): The resolved spec, a parameter for each of its values, named by the way to it.
            tags (list[MlflowPair]): The job's metadata.
     """

    metrics: list[MlflowMetric]
    params: list[MlflowPair]
    tags: list[MlflowPair]
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.mlflow_metric import MlflowMetric # noqa: PLC0415
        from ..models.mlflow_pair import MlflowPair # noqa: PLC0415
        metrics = []
        for metrics_item_data in self.metrics:
            metrics_item = metrics_item_data.to_dict()
            metrics.append(metrics_item)

        params = []
        for params_item_data in self.params:
            params_item = params_item_data.to_dict()
            params.append(params_item)

        tags = []
        for tags_item_data in self.tags:
            tags_item = tags_item_data.to_dict()
            tags.append(tags_item)

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "metrics": metrics,
            "params": params,
            "tags": tags,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.mlflow_metric import MlflowMetric # noqa: PLC0415
        from ..models.mlflow_pair import MlflowPair # noqa: PLC0415
        d = dict(src_dict)
        metrics = []
        _metrics = d.pop("metrics")
        for metrics_item_data in (_metrics):
            metrics_item = MlflowMetric.from_dict(metrics_item_data)

            metrics.append(metrics_item)

        params = []
        _params = d.pop("params")
        for params_item_data in (_params):
            params_item = MlflowPair.from_dict(params_item_data)

            params.append(params_item)

        tags = []
        _tags = d.pop("tags")
        for tags_item_data in (_tags):
            tags_item = MlflowPair.from_dict(tags_item_data)

            tags.append(tags_item)

        mlflow_run_data = cls(
            metrics=metrics,
            params=params,
            tags=tags,
        )

        mlflow_run_data.additional_properties = d
        return mlflow_run_data

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
