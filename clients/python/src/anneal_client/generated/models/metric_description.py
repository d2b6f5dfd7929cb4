from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from typing import Literal, cast

T = TypeVar("T", bound="MetricDescription")

@_attrs_define
class MetricDescription:
    """ What a metric is.

        Attributes:
            id (str): The metric's name.
            object_ (Literal['metric']):
            unit (str):
            when (str): For which jobs and steps it is reported.
            meaning (str):
     """

    id: str
    object_: Literal['metric']
    unit: str
    when: str
    meaning: str
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = self.id

        object_ = self.object_

        unit = self.unit

        when = self.when

        meaning = self.meaning

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "id": id,
            "object": object_,
            "unit": unit,
            "when": when,
            "meaning": meaning,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        id = d.pop("id")

        object_ = cast(Literal['metric'] , d.pop("object"))
        if object_ != 'metric':
            raise ValueError(f"object must match const 'metric', got '{object_}'")

        unit = d.pop("unit")

        when = d.pop("when")

        meaning = d.pop("meaning")

        metric_description = cls(
            id=id,
            object_=object_,
            unit=unit,
            when=when,
            meaning=meaning,
        )

        metric_description.additional_properties = d
        return metric_description

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
