from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from typing import cast

T = TypeVar("T", bound="SweepHalving")

@_attrs_define
class SweepHalving:
    """ Successive halving: after some steps only the better configurations go on.

        Attributes:
            metric (str): `pass@K` of the evaluation at such a step, or a metric of `GET /v1/metrics-catalog` there; the
                mean over seeds counts. Default: 'pass@1'.
            steps (list[int]): After which optimizer steps, ascending. Trials that are there wait, paused, for the others.
            factor (int): One configuration in so many goes on, rounded up. Default: 2.
            goal (str): `maximize`: higher values are better; or `minimize`. Default: 'maximize'.
     """

    steps: list[int]
    metric: str = 'pass@1'
    factor: int = 2
    goal: str = 'maximize'
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        metric = self.metric

        steps = self.steps

        factor = self.factor

        goal = self.goal

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "metric": metric,
            "steps": steps,
            "factor": factor,
            "goal": goal,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        metric = d.pop("metric")

        steps = cast(list[int], d.pop("steps"))

        factor = d.pop("factor")

        goal = d.pop("goal")

        sweep_halving = cls(
            metric=metric,
            steps=steps,
            factor=factor,
            goal=goal,
        )

        sweep_halving.additional_properties = d
        return sweep_halving

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
