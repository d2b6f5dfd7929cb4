from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast

if TYPE_CHECKING:
  from ..models.member_verdict import MemberVerdict

T = TypeVar("T", bound="TestVerdict")

@_attrs_define
class TestVerdict:
    """
        Attributes:
            status (str): `ok`, `unparsable` (nothing to judge; the reward counts), `error` or `timeout`.
            members (list[MemberVerdict]): The verdicts that this one is made of, such as those of the members of a `multi`
                verifier; empty for others.
            reward (float | None | Unset): Null where there is none.
            answer (None | str | Unset): What was compared.
            detail (None | str | Unset): The reason in a sentence; always there when there is no ordinary verdict.
     """

    status: str
    members: list[MemberVerdict]
    reward: float | None | Unset = UNSET
    answer: None | str | Unset = UNSET
    detail: None | str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.member_verdict import MemberVerdict # noqa: PLC0415
        status = self.status

        members = []
        for members_item_data in self.members:
            members_item = members_item_data.to_dict()
            members.append(members_item)

        reward: float | None | Unset
        if isinstance(self.reward, Unset):
            reward = UNSET
        else:
            reward = self.reward

        answer: None | str | Unset
        if isinstance(self.answer, Unset):
            answer = UNSET
        else:
            answer = self.answer

        detail: None | str | Unset
        if isinstance(self.detail, Unset):
            detail = UNSET
        else:
            detail = self.detail

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "status": status,
            "members": members,
        })
        if reward is not UNSET:
            field_dict["reward"] = reward
        if answer is not UNSET:
            field_dict["answer"] = answer
        if detail is not UNSET:
            field_dict["detail"] = detail

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.member_verdict import MemberVerdict # noqa: PLC0415
        d = dict(src_dict)
        status = d.pop("status")

        members = []
        _members = d.pop("members")
        for members_item_data in (_members):
            members_item = MemberVerdict.from_dict(members_item_data)

            members.append(members_item)

        def _parse_reward(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        reward = _parse_reward(d.pop("reward", UNSET))

        def _parse_answer(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        answer = _parse_answer(d.pop("answer", UNSET))

        def _parse_detail(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        detail = _parse_detail(d.pop("detail", UNSET))

        test_verdict = cls(
            status=status,
            members=members,
            reward=reward,
            answer=answer,
            detail=detail,
        )

        test_verdict.additional_properties = d
        return test_verdict

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
