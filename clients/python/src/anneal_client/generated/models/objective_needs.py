from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="ObjectiveNeeds")

@_attrs_define
class ObjectiveNeeds:
    """ What an objective asks for.

        Attributes:
            completions (bool): Rows with a `completion`; nothing is sampled.
            verifier (bool):
            reference (bool): Log-probabilities under the model the job starts from.
            teacher (bool): A model to distil from.
     """

    completions: bool
    verifier: bool
    reference: bool
    teacher: bool
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        completions = self.completions

        verifier = self.verifier

        reference = self.reference

        teacher = self.teacher

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "completions": completions,
            "verifier": verifier,
            "reference": reference,
            "teacher": teacher,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        completions = d.pop("completions")

        verifier = d.pop("verifier")

        reference = d.pop("reference")

        teacher = d.pop("teacher")

        objective_needs = cls(
            completions=completions,
            verifier=verifier,
            reference=reference,
            teacher=teacher,
        )

        objective_needs.additional_properties = d
        return objective_needs

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
