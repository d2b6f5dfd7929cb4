from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="AdvantageWeightedSettings")

@_attrs_define
class AdvantageWeightedSettings:
    """
        Attributes:
            lambda_ (float):
     """

    lambda_: float

    def to_dict(self) -> dict[str, Any]:
        lambda_ = self.lambda_

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "lambda": lambda_,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        lambda_ = d.pop("lambda")

        advantage_weighted_settings = cls(
            lambda_=lambda_,
        )

        return advantage_weighted_settings
