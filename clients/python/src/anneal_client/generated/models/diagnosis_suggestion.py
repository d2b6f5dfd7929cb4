from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from typing import cast

if TYPE_CHECKING:
  from ..models.diagnosis_suggestion_patch_item import DiagnosisSuggestionPatchItem

T = TypeVar("T", bound="DiagnosisSuggestion")

@_attrs_define
class DiagnosisSuggestion:
    """ What would help.

        Attributes:
            message (str):
            patch (list[DiagnosisSuggestionPatchItem]): A JSON Patch (RFC 6902), as `POST /v1/jobs/{id}/fork` takes it;
                empty where no setting alone would help.
     """

    message: str
    patch: list[DiagnosisSuggestionPatchItem]
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.diagnosis_suggestion_patch_item import DiagnosisSuggestionPatchItem # noqa: PLC0415
        message = self.message

        patch = []
        for patch_item_data in self.patch:
            patch_item = patch_item_data.to_dict()
            patch.append(patch_item)

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "message": message,
            "patch": patch,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.diagnosis_suggestion_patch_item import DiagnosisSuggestionPatchItem # noqa: PLC0415
        d = dict(src_dict)
        message = d.pop("message")

        patch = []
        _patch = d.pop("patch")
        for patch_item_data in (_patch):
            patch_item = DiagnosisSuggestionPatchItem.from_dict(patch_item_data)

            patch.append(patch_item)

        diagnosis_suggestion = cls(
            message=message,
            patch=patch,
        )

        diagnosis_suggestion.additional_properties = d
        return diagnosis_suggestion

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
