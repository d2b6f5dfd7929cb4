from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast

if TYPE_CHECKING:
  from ..models.json_object import JsonObject
  from ..models.sweep_budget import SweepBudget

T = TypeVar("T", bound="UpdateSweep")

@_attrs_define
class UpdateSweep:
    """ What to change; what is left out stays as it is.

        Attributes:
            paused (bool | None | Unset): With true no more trials begin, and those under way go on; with false they begin
                again.
            at_once (int | None | Unset): How many of its jobs are queued or on a device at once, at most. With less than
                there are none is stopped.
            budget (None | SweepBudget | Unset): What all its jobs together may use of the devices. One that is paused since
                its budget is spent goes on with more and
                `paused: false`.
            add_seeds (list[int] | Unset): Seeds that it did not have: each configuration that was not given up is tried
                with them. One that has finished goes on.
            by_seed (JsonObject | Unset): Any JSON object.
     """

    paused: bool | None | Unset = UNSET
    at_once: int | None | Unset = UNSET
    budget: None | SweepBudget | Unset = UNSET
    add_seeds: list[int] | Unset = UNSET
    by_seed: JsonObject | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        from ..models.json_object import JsonObject # noqa: PLC0415
        from ..models.sweep_budget import SweepBudget # noqa: PLC0415
        paused: bool | None | Unset
        if isinstance(self.paused, Unset):
            paused = UNSET
        else:
            paused = self.paused

        at_once: int | None | Unset
        if isinstance(self.at_once, Unset):
            at_once = UNSET
        else:
            at_once = self.at_once

        budget: dict[str, Any] | None | Unset
        if isinstance(self.budget, Unset):
            budget = UNSET
        elif isinstance(self.budget, SweepBudget):
            budget = self.budget.to_dict()
        else:
            budget = self.budget

        add_seeds: list[int] | Unset = UNSET
        if not isinstance(self.add_seeds, Unset):
            add_seeds = self.add_seeds

        by_seed: dict[str, Any] | Unset = UNSET
        if not isinstance(self.by_seed, Unset):
            by_seed = self.by_seed.to_dict()

        field_dict: dict[str, Any] = {}

        field_dict.update({
        })
        if paused is not UNSET:
            field_dict["paused"] = paused
        if at_once is not UNSET:
            field_dict["at_once"] = at_once
        if budget is not UNSET:
            field_dict["budget"] = budget
        if add_seeds is not UNSET:
            field_dict["add_seeds"] = add_seeds
        if by_seed is not UNSET:
            field_dict["by_seed"] = by_seed

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.json_object import JsonObject # noqa: PLC0415
        from ..models.sweep_budget import SweepBudget # noqa: PLC0415
        d = dict(src_dict)
        def _parse_paused(data: object) -> bool | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(bool | None | Unset, data)

        paused = _parse_paused(d.pop("paused", UNSET))

        def _parse_at_once(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        at_once = _parse_at_once(d.pop("at_once", UNSET))

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

        add_seeds = cast(list[int], d.pop("add_seeds", UNSET))

        _by_seed = d.pop("by_seed", UNSET)
        by_seed: JsonObject | Unset
        if isinstance(_by_seed,  Unset):
            by_seed = UNSET
        else:
            by_seed = JsonObject.from_dict(_by_seed)

        update_sweep = cls(
            paused=paused,
            at_once=at_once,
            budget=budget,
            add_seeds=add_seeds,
            by_seed=by_seed,
        )

        return update_sweep
