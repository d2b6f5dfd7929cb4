from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast

T = TypeVar("T", bound="AdviceRecorded")

@_attrs_define
class AdviceRecorded:
    """ What a set's summary and its job say.

        Attributes:
            tokens (float): Tokens of a completion, on average.
            max_step (int): Most optimizer steps that the sampling policy had taken.
            whole_distribution (bool): Whether every token was drawn from the model's own distribution.
            cut_off (float | None | Unset): Completions that ended at `max_new_tokens` or the end of the context, as a
                share; null for sets that were made
                before this was counted.
            entropy (float | None | Unset): Entropy of the model at a token, in nats, on average; null for the same sets.
            seconds_per_completion (float | None | Unset): Seconds of a device for each completion, sampled and judged; null
                when the set's job did more than that.
     """

    tokens: float
    max_step: int
    whole_distribution: bool
    cut_off: float | None | Unset = UNSET
    entropy: float | None | Unset = UNSET
    seconds_per_completion: float | None | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        tokens = self.tokens

        max_step = self.max_step

        whole_distribution = self.whole_distribution

        cut_off: float | None | Unset
        if isinstance(self.cut_off, Unset):
            cut_off = UNSET
        else:
            cut_off = self.cut_off

        entropy: float | None | Unset
        if isinstance(self.entropy, Unset):
            entropy = UNSET
        else:
            entropy = self.entropy

        seconds_per_completion: float | None | Unset
        if isinstance(self.seconds_per_completion, Unset):
            seconds_per_completion = UNSET
        else:
            seconds_per_completion = self.seconds_per_completion

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "tokens": tokens,
            "max_step": max_step,
            "whole_distribution": whole_distribution,
        })
        if cut_off is not UNSET:
            field_dict["cut_off"] = cut_off
        if entropy is not UNSET:
            field_dict["entropy"] = entropy
        if seconds_per_completion is not UNSET:
            field_dict["seconds_per_completion"] = seconds_per_completion

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        tokens = d.pop("tokens")

        max_step = d.pop("max_step")

        whole_distribution = d.pop("whole_distribution")

        def _parse_cut_off(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        cut_off = _parse_cut_off(d.pop("cut_off", UNSET))

        def _parse_entropy(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        entropy = _parse_entropy(d.pop("entropy", UNSET))

        def _parse_seconds_per_completion(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        seconds_per_completion = _parse_seconds_per_completion(d.pop("seconds_per_completion", UNSET))

        advice_recorded = cls(
            tokens=tokens,
            max_step=max_step,
            whole_distribution=whole_distribution,
            cut_off=cut_off,
            entropy=entropy,
            seconds_per_completion=seconds_per_completion,
        )

        advice_recorded.additional_properties = d
        return advice_recorded

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
