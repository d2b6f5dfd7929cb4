from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from typing import cast
from typing import Literal, cast

if TYPE_CHECKING:
  from ..models.checkpoint_metrics import CheckpointMetrics

T = TypeVar("T", bound="FineTuningCheckpoint")

@_attrs_define
class FineTuningCheckpoint:
    """ A model that a job made.

        Attributes:
            id (str):
            object_ (Literal['fine_tuning.job.checkpoint']):
            created_at (int): Unix seconds.
            fine_tuned_model_checkpoint (str): The same as `id`: a model for jobs and for completions.
            fine_tuning_job_id (str):
            step_number (int): Optimizer steps taken.
            metrics (CheckpointMetrics): What is known of a checkpoint; `GET /v1/jobs/{id}/metrics` has everything.
     """

    id: str
    object_: Literal['fine_tuning.job.checkpoint']
    created_at: int
    fine_tuned_model_checkpoint: str
    fine_tuning_job_id: str
    step_number: int
    metrics: CheckpointMetrics
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.checkpoint_metrics import CheckpointMetrics # noqa: PLC0415
        id = self.id

        object_ = self.object_

        created_at = self.created_at

        fine_tuned_model_checkpoint = self.fine_tuned_model_checkpoint

        fine_tuning_job_id = self.fine_tuning_job_id

        step_number = self.step_number

        metrics = self.metrics.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "id": id,
            "object": object_,
            "created_at": created_at,
            "fine_tuned_model_checkpoint": fine_tuned_model_checkpoint,
            "fine_tuning_job_id": fine_tuning_job_id,
            "step_number": step_number,
            "metrics": metrics,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.checkpoint_metrics import CheckpointMetrics # noqa: PLC0415
        d = dict(src_dict)
        id = d.pop("id")

        object_ = cast(Literal['fine_tuning.job.checkpoint'] , d.pop("object"))
        if object_ != 'fine_tuning.job.checkpoint':
            raise ValueError(f"object must match const 'fine_tuning.job.checkpoint', got '{object_}'")

        created_at = d.pop("created_at")

        fine_tuned_model_checkpoint = d.pop("fine_tuned_model_checkpoint")

        fine_tuning_job_id = d.pop("fine_tuning_job_id")

        step_number = d.pop("step_number")

        metrics = CheckpointMetrics.from_dict(d.pop("metrics"))

        fine_tuning_checkpoint = cls(
            id=id,
            object_=object_,
            created_at=created_at,
            fine_tuned_model_checkpoint=fine_tuned_model_checkpoint,
            fine_tuning_job_id=fine_tuning_job_id,
            step_number=step_number,
            metrics=metrics,
        )

        fine_tuning_checkpoint.additional_properties = d
        return fine_tuning_checkpoint

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
