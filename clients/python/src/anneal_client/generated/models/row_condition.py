from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast

T = TypeVar("T", bound="RowCondition")

@_attrs_define
class RowCondition:
    """ What a column must hold. A row without a value there is not kept, unless `present` is false. A text that is wholly a
    number counts as that number, because all values of CSV are texts.

        Attributes:
            column (str):
            is_ (Any | Unset): Exactly this value.
            any_of (list[Any] | None | Unset): One of these values.
            none_of (list[Any] | None | Unset): None of these values.
            at_least (float | None | Unset): A number of at least this.
            at_most (float | None | Unset): A number of at most this.
            present (bool | None | Unset): True: any value but null. False: none.
     """

    column: str
    is_: Any | Unset = UNSET
    any_of: list[Any] | None | Unset = UNSET
    none_of: list[Any] | None | Unset = UNSET
    at_least: float | None | Unset = UNSET
    at_most: float | None | Unset = UNSET
    present: bool | None | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        column = self.column

        is_ = self.is_

        any_of: list[Any] | None | Unset
        if isinstance(self.any_of, Unset):
            any_of = UNSET
        elif isinstance(self.any_of, list):
            any_of = self.any_of

        else:
            any_of = self.any_of

        none_of: list[Any] | None | Unset
        if isinstance(self.none_of, Unset):
            none_of = UNSET
        elif isinstance(self.none_of, list):
            none_of = self.none_of

        else:
            none_of = self.none_of

        at_least: float | None | Unset
        if isinstance(self.at_least, Unset):
            at_least = UNSET
        else:
            at_least = self.at_least

        at_most: float | None | Unset
        if isinstance(self.at_most, Unset):
            at_most = UNSET
        else:
            at_most = self.at_most

        present: bool | None | Unset
        if isinstance(self.present, Unset):
            present = UNSET
        else:
            present = self.present

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "column": column,
        })
        if is_ is not UNSET:
            field_dict["is"] = is_
        if any_of is not UNSET:
            field_dict["any_of"] = any_of
        if none_of is not UNSET:
            field_dict["none_of"] = none_of
        if at_least is not UNSET:
            field_dict["at_least"] = at_least
        if at_most is not UNSET:
            field_dict["at_most"] = at_most
        if present is not UNSET:
            field_dict["present"] = present

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        column = d.pop("column")

        is_ = d.pop("is", UNSET)

        def _parse_any_of(data: object) -> list[Any] | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                any_of_type_0 = cast(list[Any], data)

                return any_of_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[Any] | None | Unset, data)

        any_of = _parse_any_of(d.pop("any_of", UNSET))

        def _parse_none_of(data: object) -> list[Any] | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                none_of_type_0 = cast(list[Any], data)

                return none_of_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[Any] | None | Unset, data)

        none_of = _parse_none_of(d.pop("none_of", UNSET))

        def _parse_at_least(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        at_least = _parse_at_least(d.pop("at_least", UNSET))

        def _parse_at_most(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        at_most = _parse_at_most(d.pop("at_most", UNSET))

        def _parse_present(data: object) -> bool | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(bool | None | Unset, data)

        present = _parse_present(d.pop("present", UNSET))

        row_condition = cls(
            column=column,
            is_=is_,
            any_of=any_of,
            none_of=none_of,
            at_least=at_least,
            at_most=at_most,
            present=present,
        )

        return row_condition
