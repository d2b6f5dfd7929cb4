from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="FrontierCoverage")

@_attrs_define
class FrontierCoverage:
    """ What a set covers, whatever the temperature; shares of a group, averaged over the groups.

        Attributes:
            solve_rate (float): Completions with a reward of at least 0.5.
            pass_at_group (float): Groups with at least one such completion.
            distinct_answers (float): Distinct answers.
            distinct_completions (float): Distinct completions, token by token.
            unseen_answers (float): Good-Turing estimate of the probability of answers that were not seen: those seen once.
            zero_spread (float): Groups whose rewards are all equal, which teach nothing about better and worse.
            all_fail (float): Groups whose rewards are all below 0.5, and all at least 0.5.
            all_pass (float):
     """

    solve_rate: float
    pass_at_group: float
    distinct_answers: float
    distinct_completions: float
    unseen_answers: float
    zero_spread: float
    all_fail: float
    all_pass: float
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        solve_rate = self.solve_rate

        pass_at_group = self.pass_at_group

        distinct_answers = self.distinct_answers

        distinct_completions = self.distinct_completions

        unseen_answers = self.unseen_answers

        zero_spread = self.zero_spread

        all_fail = self.all_fail

        all_pass = self.all_pass

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "solve_rate": solve_rate,
            "pass_at_group": pass_at_group,
            "distinct_answers": distinct_answers,
            "distinct_completions": distinct_completions,
            "unseen_answers": unseen_answers,
            "zero_spread": zero_spread,
            "all_fail": all_fail,
            "all_pass": all_pass,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        solve_rate = d.pop("solve_rate")

        pass_at_group = d.pop("pass_at_group")

        distinct_answers = d.pop("distinct_answers")

        distinct_completions = d.pop("distinct_completions")

        unseen_answers = d.pop("unseen_answers")

        zero_spread = d.pop("zero_spread")

        all_fail = d.pop("all_fail")

        all_pass = d.pop("all_pass")

        frontier_coverage = cls(
            solve_rate=solve_rate,
            pass_at_group=pass_at_group,
            distinct_answers=distinct_answers,
            distinct_completions=distinct_completions,
            unseen_answers=unseen_answers,
            zero_spread=zero_spread,
            all_fail=all_fail,
            all_pass=all_pass,
        )

        frontier_coverage.additional_properties = d
        return frontier_coverage

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
