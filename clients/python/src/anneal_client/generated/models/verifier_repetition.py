from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..models.unit import Unit
from ..types import UNSET, Unset
from typing import Literal, cast

T = TypeVar("T", bound="VerifierRepetition")

@_attrs_define
class VerifierRepetition:
    """ 1 where nothing in the completion repeats itself, falling with the share of repeated n-grams.

        Attributes:
            type_ (Literal['repetition']):
            unit (Unit | Unset): - `words`: What stands between white space.
                - `characters`: Unicode code points.
            n (int | Unset): How many units are one n-gram. Default: 3.
            tolerated (float | Unset): The share of repeated n-grams that costs nothing. Beyond it the reward falls, to 0
                where all are repeated. Default: 0.0.
            ignore_case (bool | Unset): Upper and lower case are the same. Default: True.
            time_limit_seconds (float | Unset): Seconds one verification may take. Default: 10.0.
     """

    type_: Literal['repetition']
    unit: Unit | Unset = UNSET
    n: int | Unset = 3
    tolerated: float | Unset = 0.0
    ignore_case: bool | Unset = True
    time_limit_seconds: float | Unset = 10.0

    def to_dict(self) -> dict[str, Any]:
        type_ = self.type_

        unit: str | Unset = UNSET
        if not isinstance(self.unit, Unset):
            unit = self.unit.value

        n = self.n

        tolerated = self.tolerated

        ignore_case = self.ignore_case

        time_limit_seconds = self.time_limit_seconds

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "type": type_,
        })
        if unit is not UNSET:
            field_dict["unit"] = unit
        if n is not UNSET:
            field_dict["n"] = n
        if tolerated is not UNSET:
            field_dict["tolerated"] = tolerated
        if ignore_case is not UNSET:
            field_dict["ignore_case"] = ignore_case
        if time_limit_seconds is not UNSET:
            field_dict["time_limit_seconds"] = time_limit_seconds

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        type_ = cast(Literal['repetition'] , d.pop("type"))
        if type_ != 'repetition':
            raise ValueError(f"type must match const 'repetition', got '{type_}'")

        _unit = d.pop("unit", UNSET)
        unit: Unit | Unset
        if isinstance(_unit,  Unset):
            unit = UNSET
        else:
            unit = Unit(_unit)

        n = d.pop("n", UNSET)

        tolerated = d.pop("tolerated", UNSET)

        ignore_case = d.pop("ignore_case", UNSET)

        time_limit_seconds = d.pop("time_limit_seconds", UNSET)

        verifier_repetition = cls(
            type_=type_,
            unit=unit,
            n=n,
            tolerated=tolerated,
            ignore_case=ignore_case,
            time_limit_seconds=time_limit_seconds,
        )

        return verifier_repetition
