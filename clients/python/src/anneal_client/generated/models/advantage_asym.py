from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from typing import cast

if TYPE_CHECKING:
  from ..models.advantage_asym_settings import AdvantageAsymSettings

T = TypeVar("T", bound="AdvantageAsym")

@_attrs_define
class AdvantageAsym:
    """ The mean advantage with failures divided by `delta`.

        Attributes:
            asym (AdvantageAsymSettings):
     """

    asym: AdvantageAsymSettings

    def to_dict(self) -> dict[str, Any]:
        from ..models.advantage_asym_settings import AdvantageAsymSettings # noqa: PLC0415
        asym = self.asym.to_dict()

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "asym": asym,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.advantage_asym_settings import AdvantageAsymSettings # noqa: PLC0415
        d = dict(src_dict)
        asym = AdvantageAsymSettings.from_dict(d.pop("asym"))

        advantage_asym = cls(
            asym=asym,
        )

        return advantage_asym
