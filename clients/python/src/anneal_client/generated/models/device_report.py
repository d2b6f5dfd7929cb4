from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..models.device_word import DeviceWord
from ..types import UNSET, Unset
from typing import cast

if TYPE_CHECKING:
  from ..models.device_reading import DeviceReading

T = TypeVar("T", bound="DeviceReport")

@_attrs_define
class DeviceReport:
    """ What an agent has seen of a device.

        Attributes:
            type_ (DeviceWord): What an agent tells of a device.
            reading (DeviceReading | None | Unset):
            reason (None | str | Unset):
     """

    type_: DeviceWord
    reading: DeviceReading | None | Unset = UNSET
    reason: None | str | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        from ..models.device_reading import DeviceReading # noqa: PLC0415
        type_ = self.type_.value

        reading: dict[str, Any] | None | Unset
        if isinstance(self.reading, Unset):
            reading = UNSET
        elif isinstance(self.reading, DeviceReading):
            reading = self.reading.to_dict()
        else:
            reading = self.reading

        reason: None | str | Unset
        if isinstance(self.reason, Unset):
            reason = UNSET
        else:
            reason = self.reason

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "type": type_,
        })
        if reading is not UNSET:
            field_dict["reading"] = reading
        if reason is not UNSET:
            field_dict["reason"] = reason

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.device_reading import DeviceReading # noqa: PLC0415
        d = dict(src_dict)
        type_ = DeviceWord(d.pop("type"))

        def _parse_reading(data: object) -> DeviceReading | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                reading_type_0 = DeviceReading.from_dict(data)

                return reading_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(DeviceReading | None | Unset, data)

        reading = _parse_reading(d.pop("reading", UNSET))

        def _parse_reason(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        reason = _parse_reason(d.pop("reason", UNSET))

        device_report = cls(
            type_=type_,
            reading=reading,
            reason=reason,
        )

        return device_report
