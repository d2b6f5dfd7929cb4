from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast
from typing import Literal, cast

if TYPE_CHECKING:
  from ..models.sweep_budget import SweepBudget
  from ..models.sweep_configuration import SweepConfiguration
  from ..models.sweep_counts import SweepCounts
  from ..models.sweep_halving import SweepHalving
  from ..models.sweep_trial import SweepTrial

T = TypeVar("T", bound="Sweep")

@_attrs_define
class Sweep:
    """ A sweep.

        Attributes:
            id (str):
            object_ (Literal['sweep']):
            status (str): `running`; `paused`, and no more trials begin, by hand or since the budget is spent; `cancelled`;
                `finished`, all its jobs are over.
            at_once (int): How many of its jobs are queued or on a device at once, at most.
            device_seconds (float): Seconds of devices that its jobs have used, without those that it reused and those that
                were deleted.
            counts (SweepCounts): Trials by what their jobs are.
            configurations (list[SweepConfiguration]): In which ways the spec is changed, in the order of the request:
                variants, then the grid, then draws.
            created_at (int): Unix seconds.
            name (None | str | Unset):
            halving (None | SweepHalving | Unset): When and by what configurations are given up; null where none is.
            budget (None | SweepBudget | Unset): What all its jobs together may use; null where there is no limit.
            trials (list[SweepTrial] | None | Unset): All trials; in lists there are none.
            finished_at (int | None | Unset): Unix seconds.
     """

    id: str
    object_: Literal['sweep']
    status: str
    at_once: int
    device_seconds: float
    counts: SweepCounts
    configurations: list[SweepConfiguration]
    created_at: int
    name: None | str | Unset = UNSET
    halving: None | SweepHalving | Unset = UNSET
    budget: None | SweepBudget | Unset = UNSET
    trials: list[SweepTrial] | None | Unset = UNSET
    finished_at: int | None | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.sweep_budget import SweepBudget # noqa: PLC0415
        from ..models.sweep_configuration import SweepConfiguration # noqa: PLC0415
        from ..models.sweep_counts import SweepCounts # noqa: PLC0415
        from ..models.sweep_halving import SweepHalving # noqa: PLC0415
        from ..models.sweep_trial import SweepTrial # noqa: PLC0415
        id = self.id

        object_ = self.object_

        status = self.status

        at_once = self.at_once

        device_seconds = self.device_seconds

        counts = self.counts.to_dict()

        configurations = []
        for configurations_item_data in self.configurations:
            configurations_item = configurations_item_data.to_dict()
            configurations.append(configurations_item)

        created_at = self.created_at

        name: None | str | Unset
        if isinstance(self.name, Unset):
            name = UNSET
        else:
            name = self.name

        halving: dict[str, Any] | None | Unset
        if isinstance(self.halving, Unset):
            halving = UNSET
        elif isinstance(self.halving, SweepHalving):
            halving = self.halving.to_dict()
        else:
            halving = self.halving

        budget: dict[str, Any] | None | Unset
        if isinstance(self.budget, Unset):
            budget = UNSET
        elif isinstance(self.budget, SweepBudget):
            budget = self.budget.to_dict()
        else:
            budget = self.budget

        trials: list[dict[str, Any]] | None | Unset
        if isinstance(self.trials, Unset):
            trials = UNSET
        elif isinstance(self.trials, list):
            trials = []
            for trials_type_0_item_data in self.trials:
                trials_type_0_item = trials_type_0_item_data.to_dict()
                trials.append(trials_type_0_item)

        else:
            trials = self.trials

        finished_at: int | None | Unset
        if isinstance(self.finished_at, Unset):
            finished_at = UNSET
        else:
            finished_at = self.finished_at

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "id": id,
            "object": object_,
            "status": status,
            "at_once": at_once,
            "device_seconds": device_seconds,
            "counts": counts,
            "configurations": configurations,
            "created_at": created_at,
        })
        if name is not UNSET:
            field_dict["name"] = name
        if halving is not UNSET:
            field_dict["halving"] = halving
        if budget is not UNSET:
            field_dict["budget"] = budget
        if trials is not UNSET:
            field_dict["trials"] = trials
        if finished_at is not UNSET:
            field_dict["finished_at"] = finished_at

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.sweep_budget import SweepBudget # noqa: PLC0415
        from ..models.sweep_configuration import SweepConfiguration # noqa: PLC0415
        from ..models.sweep_counts import SweepCounts # noqa: PLC0415
        from ..models.sweep_halving import SweepHalving # noqa: PLC0415
        from ..models.sweep_trial import SweepTrial # noqa: PLC0415
        d = dict(src_dict)
        id = d.pop("id")

        object_ = cast(Literal['sweep'] , d.pop("object"))
        if object_ != 'sweep':
            raise ValueError(f"object must match const 'sweep', got '{object_}'")

        status = d.pop("status")

        at_once = d.pop("at_once")

        device_seconds = d.pop("device_seconds")

        counts = SweepCounts.from_dict(d.pop("counts"))

        configurations = []
        _configurations = d.pop("configurations")
        for configurations_item_data in (_configurations):
            configurations_item = SweepConfiguration.from_dict(configurations_item_data)

            configurations.append(configurations_item)

        created_at = d.pop("created_at")

        def _parse_name(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        name = _parse_name(d.pop("name", UNSET))

        def _parse_halving(data: object) -> None | SweepHalving | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                halving_type_0 = SweepHalving.from_dict(data)

                return halving_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | SweepHalving | Unset, data)

        halving = _parse_halving(d.pop("halving", UNSET))

        def _parse_budget(data: object) -> None | SweepBudget | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                budget_type_0 = SweepBudget.from_dict(data)

                return budget_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | SweepBudget | Unset, data)

        budget = _parse_budget(d.pop("budget", UNSET))

        def _parse_trials(data: object) -> list[SweepTrial] | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                trials_type_0 = []
                _trials_type_0 = data
                for trials_type_0_item_data in (_trials_type_0):
                    trials_type_0_item = SweepTrial.from_dict(trials_type_0_item_data)

                    trials_type_0.append(trials_type_0_item)

                return trials_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[SweepTrial] | None | Unset, data)

        trials = _parse_trials(d.pop("trials", UNSET))

        def _parse_finished_at(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        finished_at = _parse_finished_at(d.pop("finished_at", UNSET))

        sweep = cls(
            id=id,
            object_=object_,
            status=status,
            at_once=at_once,
            device_seconds=device_seconds,
            counts=counts,
            configurations=configurations,
            created_at=created_at,
            name=name,
            halving=halving,
            budget=budget,
            trials=trials,
            finished_at=finished_at,
        )

        sweep.additional_properties = d
        return sweep

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
