from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from typing import cast
from typing import Literal, cast

if TYPE_CHECKING:
  from ..models.job_tables import JobTables

T = TypeVar("T", bound="MetricTables")

@_attrs_define
class MetricTables:
    """ Metrics of several jobs.

        Attributes:
            object_ (Literal['metric_tables']):
            jobs (list[JobTables]): In the order in which they were asked for.
     """

    object_: Literal['metric_tables']
    jobs: list[JobTables]
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.job_tables import JobTables # noqa: PLC0415
        object_ = self.object_

        jobs = []
        for jobs_item_data in self.jobs:
            jobs_item = jobs_item_data.to_dict()
            jobs.append(jobs_item)

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "object": object_,
            "jobs": jobs,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.job_tables import JobTables # noqa: PLC0415
        d = dict(src_dict)
        object_ = cast(Literal['metric_tables'] , d.pop("object"))
        if object_ != 'metric_tables':
            raise ValueError(f"object must match const 'metric_tables', got '{object_}'")

        jobs = []
        _jobs = d.pop("jobs")
        for jobs_item_data in (_jobs):
            jobs_item = JobTables.from_dict(jobs_item_data)

            jobs.append(jobs_item)

        metric_tables = cls(
            object_=object_,
            jobs=jobs,
        )

        metric_tables.additional_properties = d
        return metric_tables

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
