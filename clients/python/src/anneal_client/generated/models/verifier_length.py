from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..models.unit import Unit
from ..models.verifier_length_rule import VerifierLengthRule
from ..types import UNSET, Unset
from typing import cast
from typing import Literal, cast

T = TypeVar("T", bound="VerifierLength")

@_attrs_define
class VerifierLength:
    """ The length of the completion in words or characters: at a target, within a limit, or punished beyond one as DAPO
    does.

        Attributes:
            type_ (Literal['length']):
            rule (VerifierLengthRule | Unset): - `target`: 1 at `length`, falling to 0 where it is `buffer` units away.
                - `at_most`: 1 up to `length`, falling to 0 over the next `buffer` units.
                - `at_least`: 1 from `length` on, falling to 0 where `buffer` units are missing.
                - `soft_overlong`: 0 until `buffer` units before `length`, falling to -1 at `length`: the punishment of DAPO, to
                be added to a reward.
                - `ratio`: The length divided by `length`, for formulas.
            unit (Unit | Unset): - `words`: What stands between white space.
                - `characters`: Unicode code points.
            length (int | None | Unset): The length that `rule` speaks of, in units; either this or `length_column`.
            length_column (None | str | Unset): The column with the length for each row.
            buffer (int | Unset): Over how many units the reward falls; with 0 it falls at once. Default: 0.
            time_limit_seconds (float | Unset): Seconds one verification may take. Default: 10.0.
     """

    type_: Literal['length']
    rule: VerifierLengthRule | Unset = UNSET
    unit: Unit | Unset = UNSET
    length: int | None | Unset = UNSET
    length_column: None | str | Unset = UNSET
    buffer: int | Unset = 0
    time_limit_seconds: float | Unset = 10.0

    def to_dict(self) -> dict[str, Any]:
        type_ = self.type_

        rule: str | Unset = UNSET
        if not isinstance(self.rule, Unset):
            rule = self.rule.value

        unit: str | Unset = UNSET
        if not isinstance(self.unit, Unset):
            unit = self.unit.value

        length: int | None | Unset
        if isinstance(self.length, Unset):
            length = UNSET
        else:
            length = self.length

        length_column: None | str | Unset
        if isinstance(self.length_column, Unset):
            length_column = UNSET
        else:
            length_column = self.length_column

        buffer = self.buffer

        time_limit_seconds = self.time_limit_seconds

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "type": type_,
        })
        if rule is not UNSET:
            field_dict["rule"] = rule
        if unit is not UNSET:
            field_dict["unit"] = unit
        if length is not UNSET:
            field_dict["length"] = length
        if length_column is not UNSET:
            field_dict["length_column"] = length_column
        if buffer is not UNSET:
            field_dict["buffer"] = buffer
        if time_limit_seconds is not UNSET:
            field_dict["time_limit_seconds"] = time_limit_seconds

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        type_ = cast(Literal['length'] , d.pop("type"))
        if type_ != 'length':
            raise ValueError(f"type must match const 'length', got '{type_}'")

        _rule = d.pop("rule", UNSET)
        rule: VerifierLengthRule | Unset
        if isinstance(_rule,  Unset):
            rule = UNSET
        else:
            rule = VerifierLengthRule(_rule)

        _unit = d.pop("unit", UNSET)
        unit: Unit | Unset
        if isinstance(_unit,  Unset):
            unit = UNSET
        else:
            unit = Unit(_unit)

        def _parse_length(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        length = _parse_length(d.pop("length", UNSET))

        def _parse_length_column(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        length_column = _parse_length_column(d.pop("length_column", UNSET))

        buffer = d.pop("buffer", UNSET)

        time_limit_seconds = d.pop("time_limit_seconds", UNSET)

        verifier_length = cls(
            type_=type_,
            rule=rule,
            unit=unit,
            length=length,
            length_column=length_column,
            buffer=buffer,
            time_limit_seconds=time_limit_seconds,
        )

        return verifier_length
