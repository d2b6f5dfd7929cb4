from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast

if TYPE_CHECKING:
  from ..models.leaked_ngrams import LeakedNgrams
  from ..models.leaked_rows import LeakedRows

T = TypeVar("T", bound="LeakageFound")

@_attrs_define
class LeakageFound:
    """ Held-out rows that are also trained on.

        Attributes:
            rows (int): Held-out rows.
            exact (LeakedRows): Held-out rows that were found.
            normalised (LeakedRows): Held-out rows that were found.
            ngrams (LeakedNgrams): Held-out rows that share words in a row with rows that are trained on.
            against (None | str | Unset): The version or the built-in that was looked for; null for the held-out part of
                this one.
     """

    rows: int
    exact: LeakedRows
    normalised: LeakedRows
    ngrams: LeakedNgrams
    against: None | str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.leaked_ngrams import LeakedNgrams # noqa: PLC0415
        from ..models.leaked_rows import LeakedRows # noqa: PLC0415
        rows = self.rows

        exact = self.exact.to_dict()

        normalised = self.normalised.to_dict()

        ngrams = self.ngrams.to_dict()

        against: None | str | Unset
        if isinstance(self.against, Unset):
            against = UNSET
        else:
            against = self.against

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "rows": rows,
            "exact": exact,
            "normalised": normalised,
            "ngrams": ngrams,
        })
        if against is not UNSET:
            field_dict["against"] = against

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.leaked_ngrams import LeakedNgrams # noqa: PLC0415
        from ..models.leaked_rows import LeakedRows # noqa: PLC0415
        d = dict(src_dict)
        rows = d.pop("rows")

        exact = LeakedRows.from_dict(d.pop("exact"))

        normalised = LeakedRows.from_dict(d.pop("normalised"))

        ngrams = LeakedNgrams.from_dict(d.pop("ngrams"))

        def _parse_against(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        against = _parse_against(d.pop("against", UNSET))

        leakage_found = cls(
            rows=rows,
            exact=exact,
            normalised=normalised,
            ngrams=ngrams,
            against=against,
        )

        leakage_found.additional_properties = d
        return leakage_found

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
