from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast

T = TypeVar("T", bound="DatasetSplit")

@_attrs_define
class DatasetSplit:
    """ How rows are held out.

        Attributes:
            eval_ (float): Share of the rows that is held out for evaluation.
            train_rows (int): Rows to train on.
            eval_rows (int): Rows that are held out.
            by (None | str | Unset): The column that says which rows belong together; null where prompts do.
     """

    eval_: float
    train_rows: int
    eval_rows: int
    by: None | str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        eval_ = self.eval_

        train_rows = self.train_rows

        eval_rows = self.eval_rows

        by: None | str | Unset
        if isinstance(self.by, Unset):
            by = UNSET
        else:
            by = self.by

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "eval": eval_,
            "train_rows": train_rows,
            "eval_rows": eval_rows,
        })
        if by is not UNSET:
            field_dict["by"] = by

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        eval_ = d.pop("eval")

        train_rows = d.pop("train_rows")

        eval_rows = d.pop("eval_rows")

        def _parse_by(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        by = _parse_by(d.pop("by", UNSET))

        dataset_split = cls(
            eval_=eval_,
            train_rows=train_rows,
            eval_rows=eval_rows,
            by=by,
        )

        dataset_split.additional_properties = d
        return dataset_split

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
