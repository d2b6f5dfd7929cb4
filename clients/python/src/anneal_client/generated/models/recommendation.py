from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..models.recommendation_code import RecommendationCode
from typing import cast

T = TypeVar("T", bound="Recommendation")

@_attrs_define
class Recommendation:
    """ Which temperature to take, and why.

        Attributes:
            beta (float | None): None when no listed one helps.
            code (RecommendationCode): What decided.

                - `reached`: It is the largest that reaches the success which is asked for.
                - `ess_floor`: It is the smallest that keeps enough completions, and reaches less.
                - `smallest_listed`: It is the smallest listed, and a smaller one would reach more.
                - `largest_listed`: It is the largest listed, and a larger one would rest on more completions.
                - `too_few_completions`: No listed temperature keeps enough completions.
                - `no_spread`: No group tells its completions apart.
            message (str): One sentence.
     """

    beta: float | None
    code: RecommendationCode
    message: str
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        beta: float | None
        beta = self.beta

        code = self.code.value

        message = self.message

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "beta": beta,
            "code": code,
            "message": message,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        def _parse_beta(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        beta = _parse_beta(d.pop("beta"))

        code = RecommendationCode(d.pop("code"))

        message = d.pop("message")

        recommendation = cls(
            beta=beta,
            code=code,
            message=message,
        )

        recommendation.additional_properties = d
        return recommendation

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
