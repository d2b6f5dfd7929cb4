from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="Flip")

@_attrs_define
class Flip:
    """ A prompt that one of two evaluations solves and the other does not.

        Attributes:
            number (int): 1, 2, 3, ... within the evaluations.
            row (int): Number of the row in its data set, counted from 0.
            prompt (str): The first 1000 characters of the prompt as the verifier saw it.
            gained (bool): Whether it is the candidate that solves it.
            baseline_passed (int): Completions that pass, and those with a verdict.
            baseline_samples (int):
            candidate_passed (int):
            candidate_samples (int):
     """

    number: int
    row: int
    prompt: str
    gained: bool
    baseline_passed: int
    baseline_samples: int
    candidate_passed: int
    candidate_samples: int
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        number = self.number

        row = self.row

        prompt = self.prompt

        gained = self.gained

        baseline_passed = self.baseline_passed

        baseline_samples = self.baseline_samples

        candidate_passed = self.candidate_passed

        candidate_samples = self.candidate_samples

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "number": number,
            "row": row,
            "prompt": prompt,
            "gained": gained,
            "baseline_passed": baseline_passed,
            "baseline_samples": baseline_samples,
            "candidate_passed": candidate_passed,
            "candidate_samples": candidate_samples,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        number = d.pop("number")

        row = d.pop("row")

        prompt = d.pop("prompt")

        gained = d.pop("gained")

        baseline_passed = d.pop("baseline_passed")

        baseline_samples = d.pop("baseline_samples")

        candidate_passed = d.pop("candidate_passed")

        candidate_samples = d.pop("candidate_samples")

        flip = cls(
            number=number,
            row=row,
            prompt=prompt,
            gained=gained,
            baseline_passed=baseline_passed,
            baseline_samples=baseline_samples,
            candidate_passed=candidate_passed,
            candidate_samples=candidate_samples,
        )

        flip.additional_properties = d
        return flip

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
