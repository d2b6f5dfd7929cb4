from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast
from typing import Literal, cast

T = TypeVar("T", bound="MlflowRunInfo")

@_attrs_define
class MlflowRunInfo:
    """
        Attributes:
            run_id (str): The job's id.
            run_uuid (str): The same.
            run_name (str):
            experiment_id (str):
            status (str): `SCHEDULED`, `RUNNING`, `FINISHED`, `FAILED` or `KILLED`.
            start_time (int): Unix milliseconds.
            artifact_uri (str):
            lifecycle_stage (Literal['active']):
            end_time (int | None | Unset): Unix milliseconds.
     """

    run_id: str
    run_uuid: str
    run_name: str
    experiment_id: str
    status: str
    start_time: int
    artifact_uri: str
    lifecycle_stage: Literal['active']
    end_time: int | None | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        run_id = self.run_id

        run_uuid = self.run_uuid

        run_name = self.run_name

        experiment_id = self.experiment_id

        status = self.status

        start_time = self.start_time

        artifact_uri = self.artifact_uri

        lifecycle_stage = self.lifecycle_stage

        end_time: int | None | Unset
        if isinstance(self.end_time, Unset):
            end_time = UNSET
        else:
            end_time = self.end_time

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "run_id": run_id,
            "run_uuid": run_uuid,
            "run_name": run_name,
            "experiment_id": experiment_id,
            "status": status,
            "start_time": start_time,
            "artifact_uri": artifact_uri,
            "lifecycle_stage": lifecycle_stage,
        })
        if end_time is not UNSET:
            field_dict["end_time"] = end_time

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        run_id = d.pop("run_id")

        run_uuid = d.pop("run_uuid")

        run_name = d.pop("run_name")

        experiment_id = d.pop("experiment_id")

        status = d.pop("status")

        start_time = d.pop("start_time")

        artifact_uri = d.pop("artifact_uri")

        lifecycle_stage = cast(Literal['active'] , d.pop("lifecycle_stage"))
        if lifecycle_stage != 'active':
            raise ValueError(f"lifecycle_stage must match const 'active', got '{lifecycle_stage}'")

        def _parse_end_time(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        end_time = _parse_end_time(d.pop("end_time", UNSET))

        mlflow_run_info = cls(
            run_id=run_id,
            run_uuid=run_uuid,
            run_name=run_name,
            experiment_id=experiment_id,
            status=status,
            start_time=start_time,
            artifact_uri=artifact_uri,
            lifecycle_stage=lifecycle_stage,
            end_time=end_time,
        )

        mlflow_run_info.additional_properties = d
        return mlflow_run_info

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
