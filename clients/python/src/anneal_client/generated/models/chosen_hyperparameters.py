from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from typing import cast

if TYPE_CHECKING:
  from ..models.json_object import JsonObject

T = TypeVar("T", bound="ChosenHyperparameters")

@_attrs_define
class ChosenHyperparameters:
    """ The numbers that a job runs with, as clients read them.

        Attributes:
            n_epochs (JsonObject): Any JSON object.
            batch_size (JsonObject): Any JSON object.
            learning_rate_multiplier (JsonObject): Any JSON object.
     """

    n_epochs: JsonObject
    batch_size: JsonObject
    learning_rate_multiplier: JsonObject
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.json_object import JsonObject # noqa: PLC0415
        n_epochs = self.n_epochs.to_dict()

        batch_size = self.batch_size.to_dict()

        learning_rate_multiplier = self.learning_rate_multiplier.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "n_epochs": n_epochs,
            "batch_size": batch_size,
            "learning_rate_multiplier": learning_rate_multiplier,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.json_object import JsonObject # noqa: PLC0415
        d = dict(src_dict)
        n_epochs = JsonObject.from_dict(d.pop("n_epochs"))

        batch_size = JsonObject.from_dict(d.pop("batch_size"))

        learning_rate_multiplier = JsonObject.from_dict(d.pop("learning_rate_multiplier"))

        chosen_hyperparameters = cls(
            n_epochs=n_epochs,
            batch_size=batch_size,
            learning_rate_multiplier=learning_rate_multiplier,
        )

        chosen_hyperparameters.additional_properties = d
        return chosen_hyperparameters

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
