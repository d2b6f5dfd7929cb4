from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast

T = TypeVar("T", bound="GateSpec")

@_attrs_define
class GateSpec:
    """ Demands on the evaluation at the end; at least one.

        Attributes:
            pass_at_1 (float | None | Unset): The least pass@1 after the last step.
            improvement (float | None | Unset): The least gain in pass@1 over the evaluation before the first step; negative
                admits a loss.
     """

    pass_at_1: float | None | Unset = UNSET
    improvement: float | None | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        pass_at_1: float | None | Unset
        if isinstance(self.pass_at_1, Unset):
            pass_at_1 = UNSET
        else:
            pass_at_1 = self.pass_at_1

        improvement: float | None | Unset
        if isinstance(self.improvement, Unset):
            improvement = UNSET
        else:
            improvement = self.improvement

        field_dict: dict[str, Any] = {}

        field_dict.update({
        })
        if pass_at_1 is not UNSET:
            field_dict["pass_at_1"] = pass_at_1
        if improvement is not UNSET:
            field_dict["improvement"] = improvement

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        def _parse_pass_at_1(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        pass_at_1 = _parse_pass_at_1(d.pop("pass_at_1", UNSET))

        def _parse_improvement(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        improvement = _parse_improvement(d.pop("improvement", UNSET))

        gate_spec = cls(
            pass_at_1=pass_at_1,
            improvement=improvement,
        )

        return gate_spec
