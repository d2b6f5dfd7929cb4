from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from typing import cast

if TYPE_CHECKING:
  from ..models.fade_schedule import FadeSchedule

T = TypeVar("T", bound="AdvantageFade")

@_attrs_define
class AdvantageFade:
    """ Power and asymmetry on FADE's schedule (arXiv 2607.01490).

        Attributes:
            fade (FadeSchedule): The part of the configuration that makes advantages; also `advantage: {"fade": {...}}` of
                other objectives.
     """

    fade: FadeSchedule

    def to_dict(self) -> dict[str, Any]:
        from ..models.fade_schedule import FadeSchedule # noqa: PLC0415
        fade = self.fade.to_dict()

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "fade": fade,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.fade_schedule import FadeSchedule # noqa: PLC0415
        d = dict(src_dict)
        fade = FadeSchedule.from_dict(d.pop("fade"))

        advantage_fade = cls(
            fade=fade,
        )

        return advantage_fade
