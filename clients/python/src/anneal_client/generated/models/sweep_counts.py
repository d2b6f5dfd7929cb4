from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="SweepCounts")

@_attrs_define
class SweepCounts:
    """ Trials by what their jobs are.

        Attributes:
            trials (int):
            waiting (int): Their turn has not come, or has to come again: they wait at a step of `halving` for the others,
                until there is more budget, or
                for the trial whose job answers them.
            active (int): Queued or on a device.
            paused (int): Paused after their turn, by hand or by a budget: the sweep is over when they are resumed and end,
                or are cancelled.
            succeeded (int):
            dropped (int): Cancelled, as their configurations were given up.
            lost (int): Failed, or cancelled otherwise, or deleted since.
     """

    trials: int
    waiting: int
    active: int
    paused: int
    succeeded: int
    dropped: int
    lost: int
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        trials = self.trials

        waiting = self.waiting

        active = self.active

        paused = self.paused

        succeeded = self.succeeded

        dropped = self.dropped

        lost = self.lost

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "trials": trials,
            "waiting": waiting,
            "active": active,
            "paused": paused,
            "succeeded": succeeded,
            "dropped": dropped,
            "lost": lost,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        trials = d.pop("trials")

        waiting = d.pop("waiting")

        active = d.pop("active")

        paused = d.pop("paused")

        succeeded = d.pop("succeeded")

        dropped = d.pop("dropped")

        lost = d.pop("lost")

        sweep_counts = cls(
            trials=trials,
            waiting=waiting,
            active=active,
            paused=paused,
            succeeded=succeeded,
            dropped=dropped,
            lost=lost,
        )

        sweep_counts.additional_properties = d
        return sweep_counts

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
