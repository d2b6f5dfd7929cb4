from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast

T = TypeVar("T", bound="AdviceRequest")

@_attrs_define
class AdviceRequest:
    """ What is known beside the set.

        Attributes:
            teacher (None | str | Unset): A model of this server that is good at the task, as in a job's `model`; it must
                read text in the same tokens as the set's.
     """

    teacher: None | str | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        teacher: None | str | Unset
        if isinstance(self.teacher, Unset):
            teacher = UNSET
        else:
            teacher = self.teacher

        field_dict: dict[str, Any] = {}

        field_dict.update({
        })
        if teacher is not UNSET:
            field_dict["teacher"] = teacher

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        def _parse_teacher(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        teacher = _parse_teacher(d.pop("teacher", UNSET))

        advice_request = cls(
            teacher=teacher,
        )

        return advice_request
