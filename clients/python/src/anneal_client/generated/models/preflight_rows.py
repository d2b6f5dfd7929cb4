from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast

T = TypeVar("T", bound="PreflightRows")

@_attrs_define
class PreflightRows:
    """ How many rows of each data set were looked at.

        Attributes:
            train (int):
            eval_ (int | None | Unset): Null when nothing is evaluated.
     """

    train: int
    eval_: int | None | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        train = self.train

        eval_: int | None | Unset
        if isinstance(self.eval_, Unset):
            eval_ = UNSET
        else:
            eval_ = self.eval_

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "train": train,
        })
        if eval_ is not UNSET:
            field_dict["eval"] = eval_

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        train = d.pop("train")

        def _parse_eval_(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        eval_ = _parse_eval_(d.pop("eval", UNSET))

        preflight_rows = cls(
            train=train,
            eval_=eval_,
        )

        preflight_rows.additional_properties = d
        return preflight_rows

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
