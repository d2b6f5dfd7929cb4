from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast
from typing import Literal, cast

if TYPE_CHECKING:
  from ..models.previewed_row import PreviewedRow
  from ..models.row_error import RowError

T = TypeVar("T", bound="DatasetPreview")

@_attrs_define
class DatasetPreview:
    """ How the first rows of a file would be read; nothing was stored.

        Attributes:
            object_ (Literal['dataset.preview']):
            rows (list[PreviewedRow]): The first rows, up to 10.
            form (None | str | Unset): `jsonl`, `json`, `csv`, `tsv` or `parquet`.
            packing (None | str | Unset): `plain`, `gzip` or `zstd`.
            layout (None | str | Unset): The layout that was named, or that the first row has.
            error (None | RowError | Unset): What ended the preview before that.
     """

    object_: Literal['dataset.preview']
    rows: list[PreviewedRow]
    form: None | str | Unset = UNSET
    packing: None | str | Unset = UNSET
    layout: None | str | Unset = UNSET
    error: None | RowError | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.previewed_row import PreviewedRow # noqa: PLC0415
        from ..models.row_error import RowError # noqa: PLC0415
        object_ = self.object_

        rows = []
        for rows_item_data in self.rows:
            rows_item = rows_item_data.to_dict()
            rows.append(rows_item)

        form: None | str | Unset
        if isinstance(self.form, Unset):
            form = UNSET
        else:
            form = self.form

        packing: None | str | Unset
        if isinstance(self.packing, Unset):
            packing = UNSET
        else:
            packing = self.packing

        layout: None | str | Unset
        if isinstance(self.layout, Unset):
            layout = UNSET
        else:
            layout = self.layout

        error: dict[str, Any] | None | Unset
        if isinstance(self.error, Unset):
            error = UNSET
        elif isinstance(self.error, RowError):
            error = self.error.to_dict()
        else:
            error = self.error

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "object": object_,
            "rows": rows,
        })
        if form is not UNSET:
            field_dict["form"] = form
        if packing is not UNSET:
            field_dict["packing"] = packing
        if layout is not UNSET:
            field_dict["layout"] = layout
        if error is not UNSET:
            field_dict["error"] = error

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.previewed_row import PreviewedRow # noqa: PLC0415
        from ..models.row_error import RowError # noqa: PLC0415
        d = dict(src_dict)
        object_ = cast(Literal['dataset.preview'] , d.pop("object"))
        if object_ != 'dataset.preview':
            raise ValueError(f"object must match const 'dataset.preview', got '{object_}'")

        rows = []
        _rows = d.pop("rows")
        for rows_item_data in (_rows):
            rows_item = PreviewedRow.from_dict(rows_item_data)

            rows.append(rows_item)

        def _parse_form(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        form = _parse_form(d.pop("form", UNSET))

        def _parse_packing(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        packing = _parse_packing(d.pop("packing", UNSET))

        def _parse_layout(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        layout = _parse_layout(d.pop("layout", UNSET))

        def _parse_error(data: object) -> None | RowError | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                error_type_0 = RowError.from_dict(data)

                return error_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | RowError | Unset, data)

        error = _parse_error(d.pop("error", UNSET))

        dataset_preview = cls(
            object_=object_,
            rows=rows,
            form=form,
            packing=packing,
            layout=layout,
            error=error,
        )

        dataset_preview.additional_properties = d
        return dataset_preview

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
