from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast

T = TypeVar("T", bound="PassRateRange")

@_attrs_define
class PassRateRange:
    """ How often a model solves a row: the share of its completions with a reward of at least 0.5.

        Attributes:
            rollout_set (str): Completions of a model for rows of this version, or of one that it was appended to, with
                rewards.
            min_ (float | Unset):  Default: 0.0.
            max_ (float | Unset):  Default: 1.0.
            keep_unsampled (bool | Unset): Also keep the rows that the set has no completions for.
            difficulty_column (None | str | Unset): Write 1 minus the pass rate into this column of each row that has one,
                for jobs with `dataset.order` "easy_first".
     """

    rollout_set: str
    min_: float | Unset = 0.0
    max_: float | Unset = 1.0
    keep_unsampled: bool | Unset = UNSET
    difficulty_column: None | str | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        rollout_set = self.rollout_set

        min_ = self.min_

        max_ = self.max_

        keep_unsampled = self.keep_unsampled

        difficulty_column: None | str | Unset
        if isinstance(self.difficulty_column, Unset):
            difficulty_column = UNSET
        else:
            difficulty_column = self.difficulty_column

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "rollout_set": rollout_set,
        })
        if min_ is not UNSET:
            field_dict["min"] = min_
        if max_ is not UNSET:
            field_dict["max"] = max_
        if keep_unsampled is not UNSET:
            field_dict["keep_unsampled"] = keep_unsampled
        if difficulty_column is not UNSET:
            field_dict["difficulty_column"] = difficulty_column

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        rollout_set = d.pop("rollout_set")

        min_ = d.pop("min", UNSET)

        max_ = d.pop("max", UNSET)

        keep_unsampled = d.pop("keep_unsampled", UNSET)

        def _parse_difficulty_column(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        difficulty_column = _parse_difficulty_column(d.pop("difficulty_column", UNSET))

        pass_rate_range = cls(
            rollout_set=rollout_set,
            min_=min_,
            max_=max_,
            keep_unsampled=keep_unsampled,
            difficulty_column=difficulty_column,
        )

        return pass_rate_range
