from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast

T = TypeVar("T", bound="RolloutAnswer")

@_attrs_define
class RolloutAnswer:
    """ What an environment answered when a turn of a completion had ended.

        Attributes:
            tokens (list[int]): The places of its tokens among those of the completion, from the first to behind the last;
                none where it said nothing.
                Their log-probabilities and entropies are 0, for they were not drawn, and nothing is learnt of them.
            text (str): What it said, as the model reads it.
            reward (float | None | Unset): What the turn earned; null where the environment gave no reward.
     """

    tokens: list[int]
    text: str
    reward: float | None | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        tokens = self.tokens

        text = self.text

        reward: float | None | Unset
        if isinstance(self.reward, Unset):
            reward = UNSET
        else:
            reward = self.reward

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "tokens": tokens,
            "text": text,
        })
        if reward is not UNSET:
            field_dict["reward"] = reward

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        tokens = cast(list[int], d.pop("tokens"))

        text = d.pop("text")

        def _parse_reward(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        reward = _parse_reward(d.pop("reward", UNSET))

        rollout_answer = cls(
            tokens=tokens,
            text=text,
            reward=reward,
        )

        rollout_answer.additional_properties = d
        return rollout_answer

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
