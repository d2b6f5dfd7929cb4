from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from typing import cast

if TYPE_CHECKING:
  from ..models.advantage_weighted_settings import AdvantageWeightedSettings

T = TypeVar("T", bound="AdvantageWeighted")

@_attrs_define
class AdvantageWeighted:
    """ `lambda` for successes, -1 for failures.

        Attributes:
            weighted (AdvantageWeightedSettings):
     """

    weighted: AdvantageWeightedSettings

    def to_dict(self) -> dict[str, Any]:
        from ..models.advantage_weighted_settings import AdvantageWeightedSettings # noqa: PLC0415
        weighted = self.weighted.to_dict()

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "weighted": weighted,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.advantage_weighted_settings import AdvantageWeightedSettings # noqa: PLC0415
        d = dict(src_dict)
        weighted = AdvantageWeightedSettings.from_dict(d.pop("weighted"))

        advantage_weighted = cls(
            weighted=weighted,
        )

        return advantage_weighted
