from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from typing import cast
from typing import Literal, cast

if TYPE_CHECKING:
  from ..models.sweep_comparison import SweepComparison
  from ..models.sweep_summary import SweepSummary

T = TypeVar("T", bound="SweepReport")

@_attrs_define
class SweepReport:
    """ What the trials of a sweep say together.

        Attributes:
            object_ (Literal['sweep_report']):
            sweep (str):
            metric (str):
            confidence (float): How sure intervals are: those of comparisons hold together, those of configurations one by
                one.
            power (float): With what chance a difference of the size `detectable` would be told from none.
            configurations (list[SweepSummary]):
            baseline (int): The configuration, by its place, that the others are compared with.
            comparisons (list[SweepComparison]): Every other configuration less the baseline, over the seeds that both have;
                those that were given up are not compared.
            missing (list[int]): Trials that have no value: they are not over, have failed, or report no such thing. Those
                that were given up are not
                among them.
     """

    object_: Literal['sweep_report']
    sweep: str
    metric: str
    confidence: float
    power: float
    configurations: list[SweepSummary]
    baseline: int
    comparisons: list[SweepComparison]
    missing: list[int]
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.sweep_comparison import SweepComparison # noqa: PLC0415
        from ..models.sweep_summary import SweepSummary # noqa: PLC0415
        object_ = self.object_

        sweep = self.sweep

        metric = self.metric

        confidence = self.confidence

        power = self.power

        configurations = []
        for configurations_item_data in self.configurations:
            configurations_item = configurations_item_data.to_dict()
            configurations.append(configurations_item)

        baseline = self.baseline

        comparisons = []
        for comparisons_item_data in self.comparisons:
            comparisons_item = comparisons_item_data.to_dict()
            comparisons.append(comparisons_item)

        missing = self.missing

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "object": object_,
            "sweep": sweep,
            "metric": metric,
            "confidence": confidence,
            "power": power,
            "configurations": configurations,
            "baseline": baseline,
            "comparisons": comparisons,
            "missing": missing,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.sweep_comparison import SweepComparison # noqa: PLC0415
        from ..models.sweep_summary import SweepSummary # noqa: PLC0415
        d = dict(src_dict)
        object_ = cast(Literal['sweep_report'] , d.pop("object"))
        if object_ != 'sweep_report':
            raise ValueError(f"object must match const 'sweep_report', got '{object_}'")

        sweep = d.pop("sweep")

        metric = d.pop("metric")

        confidence = d.pop("confidence")

        power = d.pop("power")

        configurations = []
        _configurations = d.pop("configurations")
        for configurations_item_data in (_configurations):
            configurations_item = SweepSummary.from_dict(configurations_item_data)

            configurations.append(configurations_item)

        baseline = d.pop("baseline")

        comparisons = []
        _comparisons = d.pop("comparisons")
        for comparisons_item_data in (_comparisons):
            comparisons_item = SweepComparison.from_dict(comparisons_item_data)

            comparisons.append(comparisons_item)

        missing = cast(list[int], d.pop("missing"))

        sweep_report = cls(
            object_=object_,
            sweep=sweep,
            metric=metric,
            confidence=confidence,
            power=power,
            configurations=configurations,
            baseline=baseline,
            comparisons=comparisons,
            missing=missing,
        )

        sweep_report.additional_properties = d
        return sweep_report

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
