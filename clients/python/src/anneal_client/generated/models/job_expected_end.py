from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast

T = TypeVar("T", bound="JobExpectedEnd")

@_attrs_define
class JobExpectedEnd:
    """ When a job's last step will probably be taken.

        Attributes:
            p50 (int): Unix seconds; as likely earlier as later.
            p90 (int | None | Unset): Unix seconds; earlier with a probability of 90 %, judged by how much the steps so far
                differ. Null until
                two whole blocks of 16 steps are known.
     """

    p50: int
    p90: int | None | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        p50 = self.p50

        p90: int | None | Unset
        if isinstance(self.p90, Unset):
            p90 = UNSET
        else:
            p90 = self.p90

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "p50": p50,
        })
        if p90 is not UNSET:
            field_dict["p90"] = p90

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        p50 = d.pop("p50")

        def _parse_p90(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        p90 = _parse_p90(d.pop("p90", UNSET))

        job_expected_end = cls(
            p50=p50,
            p90=p90,
        )

        job_expected_end.additional_properties = d
        return job_expected_end

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
