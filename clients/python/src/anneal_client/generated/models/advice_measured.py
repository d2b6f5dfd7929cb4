from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from typing import cast

T = TypeVar("T", bound="AdviceMeasured")

@_attrs_define
class AdviceMeasured:
    """ What was measured on a set, beside its frontier.

        Attributes:
            groups (int): Prompts.
            completions (int):
            group_size (float): Completions per prompt, on average.
            solve_rate (float): Completions with a reward of at least 0.5, as a share of a group, averaged over the groups.
            pass_at_group (float): Groups with at least one of them.
            all_fail (float): Groups whose rewards are all below 0.5, and all at least 0.5.
            all_pass (float):
            zero_spread (float): Groups whose rewards are all equal.
            difficulty_spread (float): Standard deviation of the mean rewards of groups whose rewards differ: how much such
                prompts differ in difficulty,
                without what chance makes of it.
            graded (bool): Whether a reward is neither 0 nor 1.
            unseen_answers (float): Good-Turing estimate of the probability of answers that were not seen.
            tokens (float): Tokens of a completion, on average.
            cut_off (float | None): Completions that ended at `max_new_tokens` or the end of the context, as a share; null
                for sets that were made
                before this was counted.
            entropy (float | None): Entropy of the model at a token, in nats, on average; null for the same sets.
            max_step (int): Most optimizer steps that the sampling policy had taken.
            whole_distribution (bool): Whether every token was drawn from the model's own distribution.
            seconds_per_completion (float | None): Seconds of a device for each completion, sampled and judged; null when
                the set's job did more than that.
            train_tokens_per_second (float | None): Completion tokens that the newest job on this model trained on in a
                second; null where no job has trained it.
     """

    groups: int
    completions: int
    group_size: float
    solve_rate: float
    pass_at_group: float
    all_fail: float
    all_pass: float
    zero_spread: float
    difficulty_spread: float
    graded: bool
    unseen_answers: float
    tokens: float
    cut_off: float | None
    entropy: float | None
    max_step: int
    whole_distribution: bool
    seconds_per_completion: float | None
    train_tokens_per_second: float | None
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        groups = self.groups

        completions = self.completions

        group_size = self.group_size

        solve_rate = self.solve_rate

        pass_at_group = self.pass_at_group

        all_fail = self.all_fail

        all_pass = self.all_pass

        zero_spread = self.zero_spread

        difficulty_spread = self.difficulty_spread

        graded = self.graded

        unseen_answers = self.unseen_answers

        tokens = self.tokens

        cut_off: float | None
        cut_off = self.cut_off

        entropy: float | None
        entropy = self.entropy

        max_step = self.max_step

        whole_distribution = self.whole_distribution

        seconds_per_completion: float | None
        seconds_per_completion = self.seconds_per_completion

        train_tokens_per_second: float | None
        train_tokens_per_second = self.train_tokens_per_second

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "groups": groups,
            "completions": completions,
            "group_size": group_size,
            "solve_rate": solve_rate,
            "pass_at_group": pass_at_group,
            "all_fail": all_fail,
            "all_pass": all_pass,
            "zero_spread": zero_spread,
            "difficulty_spread": difficulty_spread,
            "graded": graded,
            "unseen_answers": unseen_answers,
            "tokens": tokens,
            "cut_off": cut_off,
            "entropy": entropy,
            "max_step": max_step,
            "whole_distribution": whole_distribution,
            "seconds_per_completion": seconds_per_completion,
            "train_tokens_per_second": train_tokens_per_second,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        groups = d.pop("groups")

        completions = d.pop("completions")

        group_size = d.pop("group_size")

        solve_rate = d.pop("solve_rate")

        pass_at_group = d.pop("pass_at_group")

        all_fail = d.pop("all_fail")

        all_pass = d.pop("all_pass")

        zero_spread = d.pop("zero_spread")

        difficulty_spread = d.pop("difficulty_spread")

        graded = d.pop("graded")

        unseen_answers = d.pop("unseen_answers")

        tokens = d.pop("tokens")

        def _parse_cut_off(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        cut_off = _parse_cut_off(d.pop("cut_off"))

        def _parse_entropy(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        entropy = _parse_entropy(d.pop("entropy"))

        max_step = d.pop("max_step")

        whole_distribution = d.pop("whole_distribution")

        def _parse_seconds_per_completion(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        seconds_per_completion = _parse_seconds_per_completion(d.pop("seconds_per_completion"))

        def _parse_train_tokens_per_second(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        train_tokens_per_second = _parse_train_tokens_per_second(d.pop("train_tokens_per_second"))

        advice_measured = cls(
            groups=groups,
            completions=completions,
            group_size=group_size,
            solve_rate=solve_rate,
            pass_at_group=pass_at_group,
            all_fail=all_fail,
            all_pass=all_pass,
            zero_spread=zero_spread,
            difficulty_spread=difficulty_spread,
            graded=graded,
            unseen_answers=unseen_answers,
            tokens=tokens,
            cut_off=cut_off,
            entropy=entropy,
            max_step=max_step,
            whole_distribution=whole_distribution,
            seconds_per_completion=seconds_per_completion,
            train_tokens_per_second=train_tokens_per_second,
        )

        advice_measured.additional_properties = d
        return advice_measured

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
