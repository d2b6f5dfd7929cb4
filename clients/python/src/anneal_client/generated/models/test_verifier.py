from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from typing import cast

if TYPE_CHECKING:
  from ..models.test_completion import TestCompletion

T = TypeVar("T", bound="TestVerifier")

@_attrs_define
class TestVerifier:
    """ Completions to judge.

        Attributes:
            completions (list[TestCompletion]): Up to 100.
     """

    completions: list[TestCompletion]

    def to_dict(self) -> dict[str, Any]:
        from ..models.test_completion import TestCompletion # noqa: PLC0415
        completions = []
        for completions_item_data in self.completions:
            completions_item = completions_item_data.to_dict()
            completions.append(completions_item)

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "completions": completions,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.test_completion import TestCompletion # noqa: PLC0415
        d = dict(src_dict)
        completions = []
        _completions = d.pop("completions")
        for completions_item_data in (_completions):
            completions_item = TestCompletion.from_dict(completions_item_data)

            completions.append(completions_item)

        test_verifier = cls(
            completions=completions,
        )

        return test_verifier
