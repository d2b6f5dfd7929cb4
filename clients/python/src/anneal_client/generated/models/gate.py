from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="Gate")

@_attrs_define
class Gate:
    """ Whether the candidate is better by as much as was asked for.

        Attributes:
            min_improvement (float):
            passed (bool): Whether the whole interval lies above `min_improvement` and enough prompts differ.
     """

    min_improvement: float
    passed: bool
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        min_improvement = self.min_improvement

        passed = self.passed

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "min_improvement": min_improvement,
            "passed": passed,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        min_improvement = d.pop("min_improvement")

        passed = d.pop("passed")

        gate = cls(
            min_improvement=min_improvement,
            passed=passed,
        )

        gate.additional_properties = d
        return gate

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
