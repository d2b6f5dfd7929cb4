from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast

if TYPE_CHECKING:
  from ..models.sweep_configuration_patch_type_0_item import SweepConfigurationPatchType0Item

T = TypeVar("T", bound="SweepConfiguration")

@_attrs_define
class SweepConfiguration:
    """ One way in which the spec is changed.

        Attributes:
            name (str):
            patch (list[SweepConfigurationPatchType0Item] | None | Unset): A JSON Patch (RFC 6902) on the spec, in which
                objects that are missing on the way to a value of the grid or a draw are made; in
                lists there is none.
     """

    name: str
    patch: list[SweepConfigurationPatchType0Item] | None | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.sweep_configuration_patch_type_0_item import SweepConfigurationPatchType0Item # noqa: PLC0415
        name = self.name

        patch: list[dict[str, Any]] | None | Unset
        if isinstance(self.patch, Unset):
            patch = UNSET
        elif isinstance(self.patch, list):
            patch = []
            for patch_type_0_item_data in self.patch:
                patch_type_0_item = patch_type_0_item_data.to_dict()
                patch.append(patch_type_0_item)

        else:
            patch = self.patch

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "name": name,
        })
        if patch is not UNSET:
            field_dict["patch"] = patch

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.sweep_configuration_patch_type_0_item import SweepConfigurationPatchType0Item # noqa: PLC0415
        d = dict(src_dict)
        name = d.pop("name")

        def _parse_patch(data: object) -> list[SweepConfigurationPatchType0Item] | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                patch_type_0 = []
                _patch_type_0 = data
                for patch_type_0_item_data in (_patch_type_0):
                    patch_type_0_item = SweepConfigurationPatchType0Item.from_dict(patch_type_0_item_data)

                    patch_type_0.append(patch_type_0_item)

                return patch_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[SweepConfigurationPatchType0Item] | None | Unset, data)

        patch = _parse_patch(d.pop("patch", UNSET))

        sweep_configuration = cls(
            name=name,
            patch=patch,
        )

        sweep_configuration.additional_properties = d
        return sweep_configuration

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
