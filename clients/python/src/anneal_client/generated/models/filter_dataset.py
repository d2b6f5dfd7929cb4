from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..models.unique_by import UniqueBy
from ..types import UNSET, Unset
from typing import cast

if TYPE_CHECKING:
  from ..models.pass_rate_range import PassRateRange
  from ..models.row_condition import RowCondition

T = TypeVar("T", bound="FilterDataset")

@_attrs_define
class FilterDataset:
    """ Which rows to keep. Everything that is given must hold.

        Attributes:
            where (list[RowCondition] | Unset): What columns must hold.
            pass_rate (None | PassRateRange | Unset): How often a model solves the rows.
            unique (None | UniqueBy | Unset): Keep one of the rows with the same prompt, the first: `exact`, the same to the
                letter, or `normalised`, the same words.
     """

    where: list[RowCondition] | Unset = UNSET
    pass_rate: None | PassRateRange | Unset = UNSET
    unique: None | UniqueBy | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        from ..models.pass_rate_range import PassRateRange # noqa: PLC0415
        from ..models.row_condition import RowCondition # noqa: PLC0415
        where: list[dict[str, Any]] | Unset = UNSET
        if not isinstance(self.where, Unset):
            where = []
            for where_item_data in self.where:
                where_item = where_item_data.to_dict()
                where.append(where_item)

        pass_rate: dict[str, Any] | None | Unset
        if isinstance(self.pass_rate, Unset):
            pass_rate = UNSET
        elif isinstance(self.pass_rate, PassRateRange):
            pass_rate = self.pass_rate.to_dict()
        else:
            pass_rate = self.pass_rate

        unique: None | str | Unset
        if isinstance(self.unique, Unset):
            unique = UNSET
        elif isinstance(self.unique, UniqueBy):
            unique = self.unique.value
        else:
            unique = self.unique

        field_dict: dict[str, Any] = {}

        field_dict.update({
        })
        if where is not UNSET:
            field_dict["where"] = where
        if pass_rate is not UNSET:
            field_dict["pass_rate"] = pass_rate
        if unique is not UNSET:
            field_dict["unique"] = unique

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.pass_rate_range import PassRateRange # noqa: PLC0415
        from ..models.row_condition import RowCondition # noqa: PLC0415
        d = dict(src_dict)
        _where = d.pop("where", UNSET)
        where: list[RowCondition] | Unset = UNSET
        if _where is not UNSET:
            where = []
            for where_item_data in _where:
                where_item = RowCondition.from_dict(where_item_data)

                where.append(where_item)

        def _parse_pass_rate(data: object) -> None | PassRateRange | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                pass_rate_type_0 = PassRateRange.from_dict(data)

                return pass_rate_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | PassRateRange | Unset, data)

        pass_rate = _parse_pass_rate(d.pop("pass_rate", UNSET))

        def _parse_unique(data: object) -> None | UniqueBy | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                unique_type_0 = UniqueBy(data)

                return unique_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | UniqueBy | Unset, data)

        unique = _parse_unique(d.pop("unique", UNSET))

        filter_dataset = cls(
            where=where,
            pass_rate=pass_rate,
            unique=unique,
        )

        return filter_dataset
