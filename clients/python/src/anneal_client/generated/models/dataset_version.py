from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from typing import cast
from typing import Literal, cast

if TYPE_CHECKING:
  from ..models.dataset_columns import DatasetColumns

T = TypeVar("T", bound="DatasetVersion")

@_attrs_define
class DatasetVersion:
    """ One immutable version of a data set.

        Attributes:
            id (str):
            object_ (Literal['dataset.version']):
            dataset (str):
            number (int): 1, 2, 3, ...
            created_at (int): Unix seconds.
            rows (int):
            bytes_ (int):
            sha256 (str): Of the file, hexadecimal.
            answers (int): Rows with an answer.
            completions (int): Rows with a completion.
            duplicates (int): Rows whose prompt repeats an earlier one.
            columns (DatasetColumns): Which column of a file plays which part.
     """

    id: str
    object_: Literal['dataset.version']
    dataset: str
    number: int
    created_at: int
    rows: int
    bytes_: int
    sha256: str
    answers: int
    completions: int
    duplicates: int
    columns: DatasetColumns
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.dataset_columns import DatasetColumns # noqa: PLC0415
        id = self.id

        object_ = self.object_

        dataset = self.dataset

        number = self.number

        created_at = self.created_at

        rows = self.rows

        bytes_ = self.bytes_

        sha256 = self.sha256

        answers = self.answers

        completions = self.completions

        duplicates = self.duplicates

        columns = self.columns.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "id": id,
            "object": object_,
            "dataset": dataset,
            "number": number,
            "created_at": created_at,
            "rows": rows,
            "bytes": bytes_,
            "sha256": sha256,
            "answers": answers,
            "completions": completions,
            "duplicates": duplicates,
            "columns": columns,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.dataset_columns import DatasetColumns # noqa: PLC0415
        d = dict(src_dict)
        id = d.pop("id")

        object_ = cast(Literal['dataset.version'] , d.pop("object"))
        if object_ != 'dataset.version':
            raise ValueError(f"object must match const 'dataset.version', got '{object_}'")

        dataset = d.pop("dataset")

        number = d.pop("number")

        created_at = d.pop("created_at")

        rows = d.pop("rows")

        bytes_ = d.pop("bytes")

        sha256 = d.pop("sha256")

        answers = d.pop("answers")

        completions = d.pop("completions")

        duplicates = d.pop("duplicates")

        columns = DatasetColumns.from_dict(d.pop("columns"))

        dataset_version = cls(
            id=id,
            object_=object_,
            dataset=dataset,
            number=number,
            created_at=created_at,
            rows=rows,
            bytes_=bytes_,
            sha256=sha256,
            answers=answers,
            completions=completions,
            duplicates=duplicates,
            columns=columns,
        )

        dataset_version.additional_properties = d
        return dataset_version

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
