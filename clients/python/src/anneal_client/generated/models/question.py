from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="Question")

@_attrs_define
class Question:
    """ What a worker wants to be told of a job that it runs.

        Attributes:
            held_milliseconds (int): For how long the worker has had the job's devices.
     """

    held_milliseconds: int

    def to_dict(self) -> dict[str, Any]:
        held_milliseconds = self.held_milliseconds

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "held_milliseconds": held_milliseconds,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        held_milliseconds = d.pop("held_milliseconds")

        question = cls(
            held_milliseconds=held_milliseconds,
        )

        return question
