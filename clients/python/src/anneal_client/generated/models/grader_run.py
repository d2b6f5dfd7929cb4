from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from typing import cast

if TYPE_CHECKING:
  from ..models.grader_metadata import GraderMetadata
  from ..models.grader_run_sub_rewards import GraderRunSubRewards
  from ..models.json_object import JsonObject

T = TypeVar("T", bound="GraderRun")

@_attrs_define
class GraderRun:
    """ What a grader says.

        Attributes:
            reward (float): 0 where there is none; `metadata.errors` says so.
            metadata (GraderMetadata):
            sub_rewards (GraderRunSubRewards): The rewards of a multi grader's members.
            model_grader_token_usage_per_model (JsonObject): Any JSON object.
     """

    reward: float
    metadata: GraderMetadata
    sub_rewards: GraderRunSubRewards
    model_grader_token_usage_per_model: JsonObject
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.grader_metadata import GraderMetadata # noqa: PLC0415
        from ..models.grader_run_sub_rewards import GraderRunSubRewards # noqa: PLC0415
        from ..models.json_object import JsonObject # noqa: PLC0415
        reward = self.reward

        metadata = self.metadata.to_dict()

        sub_rewards = self.sub_rewards.to_dict()

        model_grader_token_usage_per_model = self.model_grader_token_usage_per_model.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "reward": reward,
            "metadata": metadata,
            "sub_rewards": sub_rewards,
            "model_grader_token_usage_per_model": model_grader_token_usage_per_model,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.grader_metadata import GraderMetadata # noqa: PLC0415
        from ..models.grader_run_sub_rewards import GraderRunSubRewards # noqa: PLC0415
        from ..models.json_object import JsonObject # noqa: PLC0415
        d = dict(src_dict)
        reward = d.pop("reward")

        metadata = GraderMetadata.from_dict(d.pop("metadata"))

        sub_rewards = GraderRunSubRewards.from_dict(d.pop("sub_rewards"))

        model_grader_token_usage_per_model = JsonObject.from_dict(d.pop("model_grader_token_usage_per_model"))

        grader_run = cls(
            reward=reward,
            metadata=metadata,
            sub_rewards=sub_rewards,
            model_grader_token_usage_per_model=model_grader_token_usage_per_model,
        )

        grader_run.additional_properties = d
        return grader_run

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
