from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast
from typing import Literal, cast

T = TypeVar("T", bound="MlflowExperiment")

@_attrs_define
class MlflowExperiment:
    """ A project, or one of its sweeps.

        Attributes:
            experiment_id (str): `0`, or the sweep's.
            name (str):
            artifact_location (str):
            lifecycle_stage (Literal['active']):
            creation_time (int | None | Unset): Unix milliseconds.
            last_update_time (int | None | Unset): Unix milliseconds.
     """

    experiment_id: str
    name: str
    artifact_location: str
    lifecycle_stage: Literal['active']
    creation_time: int | None | Unset = UNSET
    last_update_time: int | None | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        experiment_id = self.experiment_id

        name = self.name

        artifact_location = self.artifact_location

        lifecycle_stage = self.lifecycle_stage

        creation_time: int | None | Unset
        if isinstance(self.creation_time, Unset):
            creation_time = UNSET
        else:
            creation_time = self.creation_time

        last_update_time: int | None | Unset
        if isinstance(self.last_update_time, Unset):
            last_update_time = UNSET
        else:
            last_update_time = self.last_update_time

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "experiment_id": experiment_id,
            "name": name,
            "artifact_location": artifact_location,
            "lifecycle_stage": lifecycle_stage,
        })
        if creation_time is not UNSET:
            field_dict["creation_time"] = creation_time
        if last_update_time is not UNSET:
            field_dict["last_update_time"] = last_update_time

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        experiment_id = d.pop("experiment_id")

        name = d.pop("name")

        artifact_location = d.pop("artifact_location")

        lifecycle_stage = cast(Literal['active'] , d.pop("lifecycle_stage"))
        if lifecycle_stage != 'active':
            raise ValueError(f"lifecycle_stage must match const 'active', got '{lifecycle_stage}'")

        def _parse_creation_time(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        creation_time = _parse_creation_time(d.pop("creation_time", UNSET))

        def _parse_last_update_time(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        last_update_time = _parse_last_update_time(d.pop("last_update_time", UNSET))

        mlflow_experiment = cls(
            experiment_id=experiment_id,
            name=name,
            artifact_location=artifact_location,
            lifecycle_stage=lifecycle_stage,
            creation_time=creation_time,
            last_update_time=last_update_time,
        )

        mlflow_experiment.additional_properties = d
        return mlflow_experiment

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
