from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast

if TYPE_CHECKING:
  from ..models.test_verdict import TestVerdict

T = TypeVar("T", bound="JudgedRollout")

@_attrs_define
class JudgedRollout:
    """
        Attributes:
            id (str): The completion, as `GET /v1/jobs/{id}/rollouts` names it.
            verdict (TestVerdict):
            reward_before (float | None | Unset): What the job gave; null without a verifier.
     """

    id: str
    verdict: TestVerdict
    reward_before: float | None | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.test_verdict import TestVerdict # noqa: PLC0415
        id = self.id

        verdict = self.verdict.to_dict()

        reward_before: float | None | Unset
        if isinstance(self.reward_before, Unset):
            reward_before = UNSET
        else:
            reward_before = self.reward_before

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "id": id,
            "verdict": verdict,
        })
        if reward_before is not UNSET:
            field_dict["reward_before"] = reward_before

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.test_verdict import TestVerdict # noqa: PLC0415
        d = dict(src_dict)
        id = d.pop("id")

        verdict = TestVerdict.from_dict(d.pop("verdict"))

        def _parse_reward_before(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        reward_before = _parse_reward_before(d.pop("reward_before", UNSET))

        judged_rollout = cls(
            id=id,
            verdict=verdict,
            reward_before=reward_before,
        )

        judged_rollout.additional_properties = d
        return judged_rollout

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
