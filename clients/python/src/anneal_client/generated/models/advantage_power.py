from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from typing import cast

if TYPE_CHECKING:
  from ..models.advantage_power_settings import AdvantagePowerSettings

T = TypeVar("T", bound="AdvantagePower")

@_attrs_define
class AdvantagePower:
    """ The mean advantage times `q^(alpha - 1)`: hard prompts count more for alpha > 1.

        Attributes:
            power (AdvantagePowerSettings):
     """

    power: AdvantagePowerSettings

    def to_dict(self) -> dict[str, Any]:
        from ..models.advantage_power_settings import AdvantagePowerSettings # noqa: PLC0415
        power = self.power.to_dict()

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "power": power,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.advantage_power_settings import AdvantagePowerSettings # noqa: PLC0415
        d = dict(src_dict)
        power = AdvantagePowerSettings.from_dict(d.pop("power"))

        advantage_power = cls(
            power=power,
        )

        return advantage_power
