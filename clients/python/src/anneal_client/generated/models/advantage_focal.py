from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from typing import cast

if TYPE_CHECKING:
  from ..models.advantage_focal_settings import AdvantageFocalSettings

T = TypeVar("T", bound="AdvantageFocal")

@_attrs_define
class AdvantageFocal:
    """ Power and asymmetry together, as FADE has them at one moment of its schedule.

        Attributes:
            focal (AdvantageFocalSettings):
     """

    focal: AdvantageFocalSettings

    def to_dict(self) -> dict[str, Any]:
        from ..models.advantage_focal_settings import AdvantageFocalSettings # noqa: PLC0415
        focal = self.focal.to_dict()

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "focal": focal,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.advantage_focal_settings import AdvantageFocalSettings # noqa: PLC0415
        d = dict(src_dict)
        focal = AdvantageFocalSettings.from_dict(d.pop("focal"))

        advantage_focal = cls(
            focal=focal,
        )

        return advantage_focal
