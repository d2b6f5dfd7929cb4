from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from typing import cast

T = TypeVar("T", bound="ChosenHyperparameters")

@_attrs_define
class ChosenHyperparameters:
    """ The numbers that a job runs with, as clients read them.

        Attributes:
            n_epochs (float | str): A number, or the word `auto`.
            batch_size (float | str): A number, or the word `auto`.
            learning_rate_multiplier (float | str): A number, or the word `auto`.
     """

    n_epochs: float | str
    batch_size: float | str
    learning_rate_multiplier: float | str
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        n_epochs: float | str
        n_epochs = self.n_epochs

        batch_size: float | str
        batch_size = self.batch_size

        learning_rate_multiplier: float | str
        learning_rate_multiplier = self.learning_rate_multiplier

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
        d = dict(src_dict)
        def _parse_n_epochs(data: object) -> float | str:
            return cast(float | str, data)

        n_epochs = _parse_n_epochs(d.pop("n_epochs"))

        def _parse_batch_size(data: object) -> float | str:
            return cast(float | str, data)

        batch_size = _parse_batch_size(d.pop("batch_size"))

        def _parse_learning_rate_multiplier(data: object) -> float | str:
            return cast(float | str, data)

        learning_rate_multiplier = _parse_learning_rate_multiplier(d.pop("learning_rate_multiplier"))

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
