from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from typing import cast

if TYPE_CHECKING:
  from ..models.advice_reason import AdviceReason
  from ..models.json_object import JsonObject

T = TypeVar("T", bound="AdviceSuggestion")

@_attrs_define
class AdviceSuggestion:
    """ An objective, or a published setting of one.

        Attributes:
            name (str): The objective's name, or a preset's.
            score (int): The sum of the weights.
            reasons (list[AdviceReason]):
            spec (JsonObject): Any JSON object.
            completions_per_step (float): Completions that are sampled for a step.
            sampling_seconds_per_step (float | None): Seconds of a device that sampling and judging them takes. Null where
                it was not measured.
            training_seconds_per_step (float | None): Seconds of a device that training on a step's completions takes, by
                their mean length here and the pace of another job.
                Null where there is none, and for completions that are not of this set.
     """

    name: str
    score: int
    reasons: list[AdviceReason]
    spec: JsonObject
    completions_per_step: float
    sampling_seconds_per_step: float | None
    training_seconds_per_step: float | None
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.advice_reason import AdviceReason # noqa: PLC0415
        from ..models.json_object import JsonObject # noqa: PLC0415
        name = self.name

        score = self.score

        reasons = []
        for reasons_item_data in self.reasons:
            reasons_item = reasons_item_data.to_dict()
            reasons.append(reasons_item)

        spec = self.spec.to_dict()

        completions_per_step = self.completions_per_step

        sampling_seconds_per_step: float | None
        sampling_seconds_per_step = self.sampling_seconds_per_step

        training_seconds_per_step: float | None
        training_seconds_per_step = self.training_seconds_per_step

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "name": name,
            "score": score,
            "reasons": reasons,
            "spec": spec,
            "completions_per_step": completions_per_step,
            "sampling_seconds_per_step": sampling_seconds_per_step,
            "training_seconds_per_step": training_seconds_per_step,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.advice_reason import AdviceReason # noqa: PLC0415
        from ..models.json_object import JsonObject # noqa: PLC0415
        d = dict(src_dict)
        name = d.pop("name")

        score = d.pop("score")

        reasons = []
        _reasons = d.pop("reasons")
        for reasons_item_data in (_reasons):
            reasons_item = AdviceReason.from_dict(reasons_item_data)

            reasons.append(reasons_item)

        spec = JsonObject.from_dict(d.pop("spec"))

        completions_per_step = d.pop("completions_per_step")

        def _parse_sampling_seconds_per_step(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        sampling_seconds_per_step = _parse_sampling_seconds_per_step(d.pop("sampling_seconds_per_step"))

        def _parse_training_seconds_per_step(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        training_seconds_per_step = _parse_training_seconds_per_step(d.pop("training_seconds_per_step"))

        advice_suggestion = cls(
            name=name,
            score=score,
            reasons=reasons,
            spec=spec,
            completions_per_step=completions_per_step,
            sampling_seconds_per_step=sampling_seconds_per_step,
            training_seconds_per_step=training_seconds_per_step,
        )

        advice_suggestion.additional_properties = d
        return advice_suggestion

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
