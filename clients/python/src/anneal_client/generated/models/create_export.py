from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..models.export_form import ExportForm
from ..models.export_numbers import ExportNumbers
from ..types import UNSET, Unset
from typing import cast

T = TypeVar("T", bound="CreateExport")

@_attrs_define
class CreateExport:
    """ What to make of a checkpoint.

        Attributes:
            format_ (ExportForm):
            dtype (ExportNumbers | None | Unset): What weights are written as: `bf16` (the default) or `f32` for `merged`;
                `q8_0` (the default), `f16`, `bf16`, `f32` or
                `q4_k_m` for `gguf`.
     """

    format_: ExportForm
    dtype: ExportNumbers | None | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        format_ = self.format_.value

        dtype: None | str | Unset
        if isinstance(self.dtype, Unset):
            dtype = UNSET
        elif isinstance(self.dtype, ExportNumbers):
            dtype = self.dtype.value
        else:
            dtype = self.dtype

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "format": format_,
        })
        if dtype is not UNSET:
            field_dict["dtype"] = dtype

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        format_ = ExportForm(d.pop("format"))

        def _parse_dtype(data: object) -> ExportNumbers | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                dtype_type_0 = ExportNumbers(data)

                return dtype_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(ExportNumbers | None | Unset, data)

        dtype = _parse_dtype(d.pop("dtype", UNSET))

        create_export = cls(
            format_=format_,
            dtype=dtype,
        )

        return create_export
