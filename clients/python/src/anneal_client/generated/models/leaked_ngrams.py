from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from typing import cast

if TYPE_CHECKING:
  from ..models.leaked_row import LeakedRow

T = TypeVar("T", bound="LeakedNgrams")

@_attrs_define
class LeakedNgrams:
    """ Held-out rows that share words in a row with rows that are trained on.

        Attributes:
            n (int): Words in a row.
            rows (int):
            half (int): Of these, rows of which at least half stands in rows that are trained on.
            listed (list[LeakedRow]):
            common (int): Runs of words that more than ten held-out rows share, as instructions are; they do not count.
            looked_for (float): Share of the runs that was looked for; below 1 where held-out rows have more than 8 million.
     """

    n: int
    rows: int
    half: int
    listed: list[LeakedRow]
    common: int
    looked_for: float
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.leaked_row import LeakedRow # noqa: PLC0415
        n = self.n

        rows = self.rows

        half = self.half

        listed = []
        for listed_item_data in self.listed:
            listed_item = listed_item_data.to_dict()
            listed.append(listed_item)

        common = self.common

        looked_for = self.looked_for

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "n": n,
            "rows": rows,
            "half": half,
            "listed": listed,
            "common": common,
            "looked_for": looked_for,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.leaked_row import LeakedRow # noqa: PLC0415
        d = dict(src_dict)
        n = d.pop("n")

        rows = d.pop("rows")

        half = d.pop("half")

        listed = []
        _listed = d.pop("listed")
        for listed_item_data in (_listed):
            listed_item = LeakedRow.from_dict(listed_item_data)

            listed.append(listed_item)

        common = d.pop("common")

        looked_for = d.pop("looked_for")

        leaked_ngrams = cls(
            n=n,
            rows=rows,
            half=half,
            listed=listed,
            common=common,
            looked_for=looked_for,
        )

        leaked_ngrams.additional_properties = d
        return leaked_ngrams

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
