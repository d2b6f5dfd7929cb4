from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast

T = TypeVar("T", bound="RolloutSetSummary")

@_attrs_define
class RolloutSetSummary:
    """ What a rollout set holds, in numbers.

        Attributes:
            groups (int): Prompts.
            rollouts (int):
            tokens (int): Completion tokens.
            whole_distribution (bool): Whether every token was drawn from the model's own distribution: temperature 1, no
                `top_p` or `top_k`, neither
                weights nor cache in fewer bits, and no adapter to start from.
            max_step (int): Most optimizer steps that a sampling policy had taken: 0 when all completions come from what the
                job started from.
            reward_mean (float | None | Unset): Mean reward; null without a verifier.
            zero_spread (float | None | Unset): Share of groups whose rewards are all equal; null without a verifier.
            entropy (float | None | Unset): Entropy of the model at a token, in nats, on average; null for sets that were
                made before it was kept.
            cut_off (float | None | Unset): Completions that ended at `max_new_tokens` or the end of the context, as a
                share; null for the same sets.
     """

    groups: int
    rollouts: int
    tokens: int
    whole_distribution: bool
    max_step: int
    reward_mean: float | None | Unset = UNSET
    zero_spread: float | None | Unset = UNSET
    entropy: float | None | Unset = UNSET
    cut_off: float | None | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        groups = self.groups

        rollouts = self.rollouts

        tokens = self.tokens

        whole_distribution = self.whole_distribution

        max_step = self.max_step

        reward_mean: float | None | Unset
        if isinstance(self.reward_mean, Unset):
            reward_mean = UNSET
        else:
            reward_mean = self.reward_mean

        zero_spread: float | None | Unset
        if isinstance(self.zero_spread, Unset):
            zero_spread = UNSET
        else:
            zero_spread = self.zero_spread

        entropy: float | None | Unset
        if isinstance(self.entropy, Unset):
            entropy = UNSET
        else:
            entropy = self.entropy

        cut_off: float | None | Unset
        if isinstance(self.cut_off, Unset):
            cut_off = UNSET
        else:
            cut_off = self.cut_off

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "groups": groups,
            "rollouts": rollouts,
            "tokens": tokens,
            "whole_distribution": whole_distribution,
            "max_step": max_step,
        })
        if reward_mean is not UNSET:
            field_dict["reward_mean"] = reward_mean
        if zero_spread is not UNSET:
            field_dict["zero_spread"] = zero_spread
        if entropy is not UNSET:
            field_dict["entropy"] = entropy
        if cut_off is not UNSET:
            field_dict["cut_off"] = cut_off

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        groups = d.pop("groups")

        rollouts = d.pop("rollouts")

        tokens = d.pop("tokens")

        whole_distribution = d.pop("whole_distribution")

        max_step = d.pop("max_step")

        def _parse_reward_mean(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        reward_mean = _parse_reward_mean(d.pop("reward_mean", UNSET))

        def _parse_zero_spread(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        zero_spread = _parse_zero_spread(d.pop("zero_spread", UNSET))

        def _parse_entropy(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        entropy = _parse_entropy(d.pop("entropy", UNSET))

        def _parse_cut_off(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        cut_off = _parse_cut_off(d.pop("cut_off", UNSET))

        rollout_set_summary = cls(
            groups=groups,
            rollouts=rollouts,
            tokens=tokens,
            whole_distribution=whole_distribution,
            max_step=max_step,
            reward_mean=reward_mean,
            zero_spread=zero_spread,
            entropy=entropy,
            cut_off=cut_off,
        )

        rollout_set_summary.additional_properties = d
        return rollout_set_summary

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
