from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

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
            reused (bool): The job was there before the sweep, with the same resolved spec.
     """

    number: int
    configuration: int
    seed: int
    job: str
    status: str
    step: int
    reused: bool
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        number = self.number

        configuration = self.configuration

        seed = self.seed

        job = self.job

        status = self.status

        step = self.step

        reused = self.reused

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
        })

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

        sweep_trial = cls(
            number=number,
            configuration=configuration,
            seed=seed,
            job=job,
            status=status,
            step=step,
            reused=reused,
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
