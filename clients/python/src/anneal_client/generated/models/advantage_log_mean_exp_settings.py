from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="AdvantageLogMeanExpSettings")

@_attrs_define
class AdvantageLogMeanExpSettings:
    """
        Attributes:
            tau (float):
     """

    tau: float

    def to_dict(self) -> dict[str, Any]:
        tau = self.tau

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "tau": tau,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        tau = d.pop("tau")

        advantage_log_mean_exp_settings = cls(
            tau=tau,
        )

        return advantage_log_mean_exp_settings
