from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast

T = TypeVar("T", bound="EvaluationCompletion")

@_attrs_define
class EvaluationCompletion:
    """ A completion of an evaluation.

        Attributes:
            sample (int): Its number among those of its prompt.
            completion (str): The first 8000 characters.
            tokens (int):
            finish (str): `stop` or `length`.
            reward (float):
            answer (None | str | Unset): What the verifier compared; null where it took nothing out of the completion.
            status (None | str | Unset): `ok` or `unparsable`; null without a verifier.
            detail (None | str | Unset): The reason of the verdict in a sentence, where the verifier gave one.
     """

    sample: int
    completion: str
    tokens: int
    finish: str
    reward: float
    answer: None | str | Unset = UNSET
    status: None | str | Unset = UNSET
    detail: None | str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        sample = self.sample

        completion = self.completion

        tokens = self.tokens

        finish = self.finish

        reward = self.reward

        answer: None | str | Unset
        if isinstance(self.answer, Unset):
            answer = UNSET
        else:
            answer = self.answer

        status: None | str | Unset
        if isinstance(self.status, Unset):
            status = UNSET
        else:
            status = self.status

        detail: None | str | Unset
        if isinstance(self.detail, Unset):
            detail = UNSET
        else:
            detail = self.detail

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "sample": sample,
            "completion": completion,
            "tokens": tokens,
            "finish": finish,
            "reward": reward,
        })
        if answer is not UNSET:
            field_dict["answer"] = answer
        if status is not UNSET:
            field_dict["status"] = status
        if detail is not UNSET:
            field_dict["detail"] = detail

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        sample = d.pop("sample")

        completion = d.pop("completion")

        tokens = d.pop("tokens")

        finish = d.pop("finish")

        reward = d.pop("reward")

        def _parse_answer(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        answer = _parse_answer(d.pop("answer", UNSET))

        def _parse_status(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        status = _parse_status(d.pop("status", UNSET))

        def _parse_detail(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        detail = _parse_detail(d.pop("detail", UNSET))

        evaluation_completion = cls(
            sample=sample,
            completion=completion,
            tokens=tokens,
            finish=finish,
            reward=reward,
            answer=answer,
            status=status,
            detail=detail,
        )

        evaluation_completion.additional_properties = d
        return evaluation_completion

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
