from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="ObjectiveBoltWeightsThreshold")

@_attrs_define
class ObjectiveBoltWeightsThreshold:
    """ 1 for a reward of at least so much, otherwise 0.

        Attributes:
            threshold (float):
     """

    threshold: float

    def to_dict(self) -> dict[str, Any]:
        threshold = self.threshold

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "threshold": threshold,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        threshold = d.pop("threshold")

        objective_bolt_weights_threshold = cls(
            threshold=threshold,
        )

        return objective_bolt_weights_threshold
