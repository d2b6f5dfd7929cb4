from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast

T = TypeVar("T", bound="AuditExample")

@_attrs_define
class AuditExample:
    """ A text that was judged otherwise than it should be.

        Attributes:
            row (int): Its number, counted from 0.
            status (str): `ok`, `unparsable`, `error` or `timeout`.
            completion (str): The beginning of the text that was judged.
            reward (float | None | Unset): Null where the row could not be judged.
            answer (None | str | Unset): The beginning of the row's answer.
            found (None | str | Unset): What the verifier took out of the text.
            detail (None | str | Unset):
     """

    row: int
    status: str
    completion: str
    reward: float | None | Unset = UNSET
    answer: None | str | Unset = UNSET
    found: None | str | Unset = UNSET
    detail: None | str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        row = self.row

        status = self.status

        completion = self.completion

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

        found: None | str | Unset
        if isinstance(self.found, Unset):
            found = UNSET
        else:
            found = self.found

        detail: None | str | Unset
        if isinstance(self.detail, Unset):
            detail = UNSET
        else:
            detail = self.detail

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "row": row,
            "status": status,
            "completion": completion,
        })
        if reward is not UNSET:
            field_dict["reward"] = reward
        if answer is not UNSET:
            field_dict["answer"] = answer
        if found is not UNSET:
            field_dict["found"] = found
        if detail is not UNSET:
            field_dict["detail"] = detail

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        row = d.pop("row")

        status = d.pop("status")

        completion = d.pop("completion")

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

        def _parse_found(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        found = _parse_found(d.pop("found", UNSET))

        def _parse_detail(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        detail = _parse_detail(d.pop("detail", UNSET))

        audit_example = cls(
            row=row,
            status=status,
            completion=completion,
            reward=reward,
            answer=answer,
            found=found,
            detail=detail,
        )

        audit_example.additional_properties = d
        return audit_example

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
