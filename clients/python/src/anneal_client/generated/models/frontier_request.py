from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast

T = TypeVar("T", bound="FrontierRequest")

@_attrs_define
class FrontierRequest:
    """ Which temperatures to look at.

        Attributes:
            betas (list[float] | None | Unset): Temperatures of the target, 1 to 200, all above 0; by default 25 from 0.02
                to 5, evenly spaced in logarithm.
            ess_floor (float | None | Unset): How many completions the weights of a group whose rewards differ have to rest
                on, on average; by default 2, or three
                quarters of a smaller group.
     """

    betas: list[float] | None | Unset = UNSET
    ess_floor: float | None | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        betas: list[float] | None | Unset
        if isinstance(self.betas, Unset):
            betas = UNSET
        elif isinstance(self.betas, list):
            betas = self.betas

        else:
            betas = self.betas

        ess_floor: float | None | Unset
        if isinstance(self.ess_floor, Unset):
            ess_floor = UNSET
        else:
            ess_floor = self.ess_floor

        field_dict: dict[str, Any] = {}

        field_dict.update({
        })
        if betas is not UNSET:
            field_dict["betas"] = betas
        if ess_floor is not UNSET:
            field_dict["ess_floor"] = ess_floor

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        def _parse_betas(data: object) -> list[float] | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                betas_type_0 = cast(list[float], data)

                return betas_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[float] | None | Unset, data)

        betas = _parse_betas(d.pop("betas", UNSET))

        def _parse_ess_floor(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        ess_floor = _parse_ess_floor(d.pop("ess_floor", UNSET))

        frontier_request = cls(
            betas=betas,
            ess_floor=ess_floor,
        )

        return frontier_request
