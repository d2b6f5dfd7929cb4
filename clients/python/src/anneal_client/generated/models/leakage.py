from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="Leakage")

@_attrs_define
class Leakage:
    """ How many of the held-out prompts are also trained on. Prompts are compared by a 64-bit hash of their text.

        Attributes:
            eval_rows (int): Held-out rows that were looked for: those that the job evaluates on.
            eval_rows_in_train (int): Of these, rows whose prompt also stands in the training data.
            train_rows (int): Rows of the training data that were looked at, from the first on.
            complete (bool): Whether these were all.
     """

    eval_rows: int
    eval_rows_in_train: int
    train_rows: int
    complete: bool
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        eval_rows = self.eval_rows

        eval_rows_in_train = self.eval_rows_in_train

        train_rows = self.train_rows

        complete = self.complete

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "eval_rows": eval_rows,
            "eval_rows_in_train": eval_rows_in_train,
            "train_rows": train_rows,
            "complete": complete,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        eval_rows = d.pop("eval_rows")

        eval_rows_in_train = d.pop("eval_rows_in_train")

        train_rows = d.pop("train_rows")

        complete = d.pop("complete")

        leakage = cls(
            eval_rows=eval_rows,
            eval_rows_in_train=eval_rows_in_train,
            train_rows=train_rows,
            complete=complete,
        )

        leakage.additional_properties = d
        return leakage

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
