from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast

if TYPE_CHECKING:
  from ..models.pass_rate import PassRate

T = TypeVar("T", bound="BreakdownGroup")

@_attrs_define
class BreakdownGroup:
    """ The prompts whose rows have the same value.

        Attributes:
            prompts (int):
            samples (int): Completions with a verdict.
            pass_at (list[PassRate]): Over the prompts of the group that have k completions with verdicts, with 95 %
                intervals; without a k that none has.
            value (None | str | Unset): As JSON, texts as they are; of numbers that differ a lot a range, `2 to 5`. Null
                where a row has no such column, and without `by`.
            majority (None | PassRate | Unset): maj@k for k = `samples` of the evaluation: the share of prompts whose most
                frequent answer passes; null where no prompt has an answer.
            reward_mean (float | None | Unset): Of all completions of the group.
            tokens_mean (float | None | Unset):
            truncated (float | None | Unset): Share of completions that were cut at the length limit.
     """

    prompts: int
    samples: int
    pass_at: list[PassRate]
    value: None | str | Unset = UNSET
    majority: None | PassRate | Unset = UNSET
    reward_mean: float | None | Unset = UNSET
    tokens_mean: float | None | Unset = UNSET
    truncated: float | None | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.pass_rate import PassRate # noqa: PLC0415
        prompts = self.prompts

        samples = self.samples

        pass_at = []
        for pass_at_item_data in self.pass_at:
            pass_at_item = pass_at_item_data.to_dict()
            pass_at.append(pass_at_item)

        value: None | str | Unset
        if isinstance(self.value, Unset):
            value = UNSET
        else:
            value = self.value

        majority: dict[str, Any] | None | Unset
        if isinstance(self.majority, Unset):
            majority = UNSET
        elif isinstance(self.majority, PassRate):
            majority = self.majority.to_dict()
        else:
            majority = self.majority

        reward_mean: float | None | Unset
        if isinstance(self.reward_mean, Unset):
            reward_mean = UNSET
        else:
            reward_mean = self.reward_mean

        tokens_mean: float | None | Unset
        if isinstance(self.tokens_mean, Unset):
            tokens_mean = UNSET
        else:
            tokens_mean = self.tokens_mean

        truncated: float | None | Unset
        if isinstance(self.truncated, Unset):
            truncated = UNSET
        else:
            truncated = self.truncated

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "prompts": prompts,
            "samples": samples,
            "pass_at": pass_at,
        })
        if value is not UNSET:
            field_dict["value"] = value
        if majority is not UNSET:
            field_dict["majority"] = majority
        if reward_mean is not UNSET:
            field_dict["reward_mean"] = reward_mean
        if tokens_mean is not UNSET:
            field_dict["tokens_mean"] = tokens_mean
        if truncated is not UNSET:
            field_dict["truncated"] = truncated

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.pass_rate import PassRate # noqa: PLC0415
        d = dict(src_dict)
        prompts = d.pop("prompts")

        samples = d.pop("samples")

        pass_at = []
        _pass_at = d.pop("pass_at")
        for pass_at_item_data in (_pass_at):
            pass_at_item = PassRate.from_dict(pass_at_item_data)

            pass_at.append(pass_at_item)

        def _parse_value(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        value = _parse_value(d.pop("value", UNSET))

        def _parse_majority(data: object) -> None | PassRate | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                majority_type_0 = PassRate.from_dict(data)

                return majority_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | PassRate | Unset, data)

        majority = _parse_majority(d.pop("majority", UNSET))

        def _parse_reward_mean(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        reward_mean = _parse_reward_mean(d.pop("reward_mean", UNSET))

        def _parse_tokens_mean(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        tokens_mean = _parse_tokens_mean(d.pop("tokens_mean", UNSET))

        def _parse_truncated(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        truncated = _parse_truncated(d.pop("truncated", UNSET))

        breakdown_group = cls(
            prompts=prompts,
            samples=samples,
            pass_at=pass_at,
            value=value,
            majority=majority,
            reward_mean=reward_mean,
            tokens_mean=tokens_mean,
            truncated=truncated,
        )

        breakdown_group.additional_properties = d
        return breakdown_group

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
