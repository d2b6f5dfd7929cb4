from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast

T = TypeVar("T", bound="DeviceState")

@_attrs_define
class DeviceState:
    """ A device as the server sees it.

        Attributes:
            name (str):
            number (int): The N of `cuda:N`.
            description (str):
            status (str):
            wanted (bool): Whether a job could start on it now.
            uuid (None | str | Unset): What the driver knows a GPU by.
            fault (None | str | Unset): Why it takes no jobs.
     """

    name: str
    number: int
    description: str
    status: str
    wanted: bool
    uuid: None | str | Unset = UNSET
    fault: None | str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        name = self.name

        number = self.number

        description = self.description

        status = self.status

        wanted = self.wanted

        uuid: None | str | Unset
        if isinstance(self.uuid, Unset):
            uuid = UNSET
        else:
            uuid = self.uuid

        fault: None | str | Unset
        if isinstance(self.fault, Unset):
            fault = UNSET
        else:
            fault = self.fault

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "name": name,
            "number": number,
            "description": description,
            "status": status,
            "wanted": wanted,
        })
        if uuid is not UNSET:
            field_dict["uuid"] = uuid
        if fault is not UNSET:
            field_dict["fault"] = fault

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        name = d.pop("name")

        number = d.pop("number")

        description = d.pop("description")

        status = d.pop("status")

        wanted = d.pop("wanted")

        def _parse_uuid(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        uuid = _parse_uuid(d.pop("uuid", UNSET))

        def _parse_fault(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        fault = _parse_fault(d.pop("fault", UNSET))

        device_state = cls(
            name=name,
            number=number,
            description=description,
            status=status,
            wanted=wanted,
            uuid=uuid,
            fault=fault,
        )

        device_state.additional_properties = d
        return device_state

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
