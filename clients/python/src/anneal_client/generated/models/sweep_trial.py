from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast

T = TypeVar("T", bound="SweepTrial")

@_attrs_define
class SweepTrial:
    """ A configuration with one seed.

        Attributes:
            number (int):
            configuration (int): By its place in `configurations`.
            seed (int):
            job (str):
            status (str): The job's; `deleted` where there is none any more. A trial whose turn has not come is `paused`.
            step (int): Optimizer steps taken.
            reused (bool): The job was there before the sweep, or is that of a trial before, with the same resolved spec.
            dropped (bool): Its configuration was given up there.
            rung_step (int | None | Unset): The last step of `halving` that it has reached, and its value there.
            rung_value (float | None | Unset):
     """

    number: int
    configuration: int
    seed: int
    job: str
    status: str
    step: int
    reused: bool
    dropped: bool
    rung_step: int | None | Unset = UNSET
    rung_value: float | None | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        number = self.number

        configuration = self.configuration

        seed = self.seed

        job = self.job

        status = self.status

        step = self.step

        reused = self.reused

        dropped = self.dropped

        rung_step: int | None | Unset
        if isinstance(self.rung_step, Unset):
            rung_step = UNSET
        else:
            rung_step = self.rung_step

        rung_value: float | None | Unset
        if isinstance(self.rung_value, Unset):
            rung_value = UNSET
        else:
            rung_value = self.rung_value

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "number": number,
            "configuration": configuration,
            "seed": seed,
            "job": job,
            "status": status,
            "step": step,
            "reused": reused,
            "dropped": dropped,
        })
        if rung_step is not UNSET:
            field_dict["rung_step"] = rung_step
        if rung_value is not UNSET:
            field_dict["rung_value"] = rung_value

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        number = d.pop("number")

        configuration = d.pop("configuration")

        seed = d.pop("seed")

        job = d.pop("job")

        status = d.pop("status")

        step = d.pop("step")

        reused = d.pop("reused")

        dropped = d.pop("dropped")

        def _parse_rung_step(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        rung_step = _parse_rung_step(d.pop("rung_step", UNSET))

        def _parse_rung_value(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        rung_value = _parse_rung_value(d.pop("rung_value", UNSET))

        sweep_trial = cls(
            number=number,
            configuration=configuration,
            seed=seed,
            job=job,
            status=status,
            step=step,
            reused=reused,
            dropped=dropped,
            rung_step=rung_step,
            rung_value=rung_value,
        )

        sweep_trial.additional_properties = d
        return sweep_trial

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
