from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from typing import cast

if TYPE_CHECKING:
  from ..models.json_object import JsonObject

T = TypeVar("T", bound="ObjectivePreset")

@_attrs_define
class ObjectivePreset:
    """ A published method that is settings of an objective.

        Attributes:
            name (str):
            summary (str):
            source (str): Where it was published.
            spec (JsonObject): Any JSON object.
     """

    name: str
    summary: str
    source: str
    spec: JsonObject
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.json_object import JsonObject # noqa: PLC0415
        name = self.name

        summary = self.summary

        source = self.source

        spec = self.spec.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "name": name,
            "summary": summary,
            "source": source,
            "spec": spec,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.json_object import JsonObject # noqa: PLC0415
        d = dict(src_dict)
        name = d.pop("name")

        summary = d.pop("summary")

        source = d.pop("source")

        spec = JsonObject.from_dict(d.pop("spec"))

        objective_preset = cls(
            name=name,
            summary=summary,
            source=source,
            spec=spec,
        )

        objective_preset.additional_properties = d
        return objective_preset

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
