from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from typing import cast

if TYPE_CHECKING:
  from ..models.sweep_variant_patch_item import SweepVariantPatchItem

T = TypeVar("T", bound="SweepVariant")

@_attrs_define
class SweepVariant:
    """ A JSON Patch with a name.

        Attributes:
            name (str):
            patch (list[SweepVariantPatchItem]): Operations of RFC 6902.
     """

    name: str
    patch: list[SweepVariantPatchItem]
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.sweep_variant_patch_item import SweepVariantPatchItem # noqa: PLC0415
        name = self.name

        patch = []
        for patch_item_data in self.patch:
            patch_item = patch_item_data.to_dict()
            patch.append(patch_item)

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "name": name,
            "patch": patch,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.sweep_variant_patch_item import SweepVariantPatchItem # noqa: PLC0415
        d = dict(src_dict)
        name = d.pop("name")

        patch = []
        _patch = d.pop("patch")
        for patch_item_data in (_patch):
            patch_item = SweepVariantPatchItem.from_dict(patch_item_data)

            patch.append(patch_item)

        sweep_variant = cls(
            name=name,
            patch=patch,
        )

        sweep_variant.additional_properties = d
        return sweep_variant

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
