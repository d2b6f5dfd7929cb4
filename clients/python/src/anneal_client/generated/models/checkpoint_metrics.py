from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast

T = TypeVar("T", bound="CheckpointMetrics")

@_attrs_define
class CheckpointMetrics:
    """ What is known of a checkpoint; `GET /v1/jobs/{id}/metrics` has everything.

        Attributes:
            step (int):
            train_loss (float | None | Unset): Of the last step.
     """

    step: int
    train_loss: float | None | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        step = self.step

        train_loss: float | None | Unset
        if isinstance(self.train_loss, Unset):
            train_loss = UNSET
        else:
            train_loss = self.train_loss

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "step": step,
        })
        if train_loss is not UNSET:
            field_dict["train_loss"] = train_loss

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        step = d.pop("step")

        def _parse_train_loss(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        train_loss = _parse_train_loss(d.pop("train_loss", UNSET))

        checkpoint_metrics = cls(
            step=step,
            train_loss=train_loss,
        )

        checkpoint_metrics.additional_properties = d
        return checkpoint_metrics

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
