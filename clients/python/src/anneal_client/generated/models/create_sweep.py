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
  from ..models.sweep_draws import SweepDraws
  from ..models.sweep_halving import SweepHalving
  from ..models.sweep_variant import SweepVariant

T = TypeVar("T", bound="CreateSweep")

@_attrs_define
class CreateSweep:
    """ A sweep to make.

        Attributes:
            spec (JsonObject): Any JSON object.
            seeds (list[int]): Each configuration is tried with each of these.
            name (None | str | Unset): A name for people.
            variants (list[SweepVariant] | Unset): Named JSON Patches on the spec. With several kinds of changes every
                combination is tried.
            grid (JsonObject | Unset): Any JSON object.
            random (None | SweepDraws | Unset): Draws from ranges.
            by_seed (JsonObject | Unset): Any JSON object.
            at_once (int | Unset): How many of its jobs are queued or on a device at once, at most.
            halving (None | SweepHalving | Unset): When and by what configurations are given up.
            budget (None | SweepBudget | Unset): What all its jobs together may use of the devices.
            reuse (bool | Unset): Where a finished job of this project has the same resolved spec and was made by this
                version of the program, it answers, and
                nothing is done again. Trials of the sweep that come to the same are one job, but for sweeps with `halving`.
     """

    spec: JsonObject
    seeds: list[int]
    name: None | str | Unset = UNSET
    variants: list[SweepVariant] | Unset = UNSET
    grid: JsonObject | Unset = UNSET
    random: None | SweepDraws | Unset = UNSET
    by_seed: JsonObject | Unset = UNSET
    at_once: int | Unset = UNSET
    halving: None | SweepHalving | Unset = UNSET
    budget: None | SweepBudget | Unset = UNSET
    reuse: bool | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        from ..models.json_object import JsonObject # noqa: PLC0415
        from ..models.sweep_budget import SweepBudget # noqa: PLC0415
        from ..models.sweep_draws import SweepDraws # noqa: PLC0415
        from ..models.sweep_halving import SweepHalving # noqa: PLC0415
        from ..models.sweep_variant import SweepVariant # noqa: PLC0415
        spec = self.spec.to_dict()

        seeds = self.seeds

        name: None | str | Unset
        if isinstance(self.name, Unset):
            name = UNSET
        else:
            name = self.name

        variants: list[dict[str, Any]] | Unset = UNSET
        if not isinstance(self.variants, Unset):
            variants = []
            for variants_item_data in self.variants:
                variants_item = variants_item_data.to_dict()
                variants.append(variants_item)

        grid: dict[str, Any] | Unset = UNSET
        if not isinstance(self.grid, Unset):
            grid = self.grid.to_dict()

        random: dict[str, Any] | None | Unset
        if isinstance(self.random, Unset):
            random = UNSET
        elif isinstance(self.random, SweepDraws):
            random = self.random.to_dict()
        else:
            random = self.random

        by_seed: dict[str, Any] | Unset = UNSET
        if not isinstance(self.by_seed, Unset):
            by_seed = self.by_seed.to_dict()

        at_once = self.at_once

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

        reuse = self.reuse

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "spec": spec,
            "seeds": seeds,
        })
        if name is not UNSET:
            field_dict["name"] = name
        if variants is not UNSET:
            field_dict["variants"] = variants
        if grid is not UNSET:
            field_dict["grid"] = grid
        if random is not UNSET:
            field_dict["random"] = random
        if by_seed is not UNSET:
            field_dict["by_seed"] = by_seed
        if at_once is not UNSET:
            field_dict["at_once"] = at_once
        if halving is not UNSET:
            field_dict["halving"] = halving
        if budget is not UNSET:
            field_dict["budget"] = budget
        if reuse is not UNSET:
            field_dict["reuse"] = reuse

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.json_object import JsonObject # noqa: PLC0415
        from ..models.sweep_budget import SweepBudget # noqa: PLC0415
        from ..models.sweep_draws import SweepDraws # noqa: PLC0415
        from ..models.sweep_halving import SweepHalving # noqa: PLC0415
        from ..models.sweep_variant import SweepVariant # noqa: PLC0415
        d = dict(src_dict)
        spec = JsonObject.from_dict(d.pop("spec"))

        seeds = cast(list[int], d.pop("seeds"))

        def _parse_name(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        name = _parse_name(d.pop("name", UNSET))

        _variants = d.pop("variants", UNSET)
        variants: list[SweepVariant] | Unset = UNSET
        if _variants is not UNSET:
            variants = []
            for variants_item_data in _variants:
                variants_item = SweepVariant.from_dict(variants_item_data)

                variants.append(variants_item)

        _grid = d.pop("grid", UNSET)
        grid: JsonObject | Unset
        if isinstance(_grid,  Unset):
            grid = UNSET
        else:
            grid = JsonObject.from_dict(_grid)

        def _parse_random(data: object) -> None | SweepDraws | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                random_type_0 = SweepDraws.from_dict(data)

                return random_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | SweepDraws | Unset, data)

        random = _parse_random(d.pop("random", UNSET))

        _by_seed = d.pop("by_seed", UNSET)
        by_seed: JsonObject | Unset
        if isinstance(_by_seed,  Unset):
            by_seed = UNSET
        else:
            by_seed = JsonObject.from_dict(_by_seed)

        at_once = d.pop("at_once", UNSET)

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

        reuse = d.pop("reuse", UNSET)

        create_sweep = cls(
            spec=spec,
            seeds=seeds,
            name=name,
            variants=variants,
            grid=grid,
            random=random,
            by_seed=by_seed,
            at_once=at_once,
            halving=halving,
            budget=budget,
            reuse=reuse,
        )

        return create_sweep
