from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="DatasetColumns")

@_attrs_define
class DatasetColumns:
    """ Which column of a file plays which part.

        Attributes:
            prompt (str): Text, or an array of `{role, content}`. Where it has its default name and a row lacks it,
                `messages` is read. Default: 'prompt'.
            answer (str): Text, a number or a boolean; optional. Default: 'answer'.
            completion (str): Text; optional. Default: 'completion'.
     """

    prompt: str = 'prompt'
    answer: str = 'answer'
    completion: str = 'completion'

    def to_dict(self) -> dict[str, Any]:
        prompt = self.prompt

        answer = self.answer

        completion = self.completion

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "prompt": prompt,
            "answer": answer,
            "completion": completion,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        prompt = d.pop("prompt")

        answer = d.pop("answer")

        completion = d.pop("completion")

        dataset_columns = cls(
            prompt=prompt,
            answer=answer,
            completion=completion,
        )

        return dataset_columns
