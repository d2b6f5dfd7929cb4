from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset

T = TypeVar("T", bound="AuditVerifier")

@_attrs_define
class AuditVerifier:
    """ Which rows to audit a verifier with.

        Attributes:
            dataset (str): A data set (`ds_...`, its latest version), a version (`dsv_...`) or a built-in.
            rows (int | Unset): Rows to look at, from the first on; 1 to 1000. Default: 1000.
     """

    dataset: str
    rows: int | Unset = 1000

    def to_dict(self) -> dict[str, Any]:
        dataset = self.dataset

        rows = self.rows

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "dataset": dataset,
        })
        if rows is not UNSET:
            field_dict["rows"] = rows

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        dataset = d.pop("dataset")

        rows = d.pop("rows", UNSET)

        audit_verifier = cls(
            dataset=dataset,
            rows=rows,
        )

        return audit_verifier
