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
  from ..models.dataset_columns import DatasetColumns
  from ..models.dataset_split import DatasetSplit
  from ..models.json_object import JsonObject

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
            origin (JsonObject | None | Unset): What the rows were made of: `form`, `packing`, `layout` and `map`, and of a
                data set of the hub `source` with its commit,
                `revision` as it was asked for, and `files` with their digests; after an append, of the rows that were added,
                and
                `appended_to`, the version before. Null for JSON Lines that came as they are.
            split (DatasetSplit | None | Unset): How rows are held out; null where none are.
            parent (None | str | Unset): The version that it was made of, by appending to it or by filtering it; null for
                one that was uploaded.
            made (JsonObject | None | Unset): How it was made of its parent: `append` or `filter`, with what was asked for.
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
    origin: JsonObject | None | Unset = UNSET
    split: DatasetSplit | None | Unset = UNSET
    parent: None | str | Unset = UNSET
    made: JsonObject | None | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.dataset_columns import DatasetColumns # noqa: PLC0415
        from ..models.dataset_split import DatasetSplit # noqa: PLC0415
        from ..models.json_object import JsonObject # noqa: PLC0415
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

        origin: dict[str, Any] | None | Unset
        if isinstance(self.origin, Unset):
            origin = UNSET
        elif isinstance(self.origin, JsonObject):
            origin = self.origin.to_dict()
        else:
            origin = self.origin

        split: dict[str, Any] | None | Unset
        if isinstance(self.split, Unset):
            split = UNSET
        elif isinstance(self.split, DatasetSplit):
            split = self.split.to_dict()
        else:
            split = self.split

        parent: None | str | Unset
        if isinstance(self.parent, Unset):
            parent = UNSET
        else:
            parent = self.parent

        made: dict[str, Any] | None | Unset
        if isinstance(self.made, Unset):
            made = UNSET
        elif isinstance(self.made, JsonObject):
            made = self.made.to_dict()
        else:
            made = self.made

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
        if origin is not UNSET:
            field_dict["origin"] = origin
        if split is not UNSET:
            field_dict["split"] = split
        if parent is not UNSET:
            field_dict["parent"] = parent
        if made is not UNSET:
            field_dict["made"] = made

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.dataset_columns import DatasetColumns # noqa: PLC0415
        from ..models.dataset_split import DatasetSplit # noqa: PLC0415
        from ..models.json_object import JsonObject # noqa: PLC0415
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

        def _parse_origin(data: object) -> JsonObject | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                origin_type_0 = JsonObject.from_dict(data)

                return origin_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(JsonObject | None | Unset, data)

        origin = _parse_origin(d.pop("origin", UNSET))

        def _parse_split(data: object) -> DatasetSplit | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                split_type_0 = DatasetSplit.from_dict(data)

                return split_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(DatasetSplit | None | Unset, data)

        split = _parse_split(d.pop("split", UNSET))

        def _parse_parent(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        parent = _parse_parent(d.pop("parent", UNSET))

        def _parse_made(data: object) -> JsonObject | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                made_type_0 = JsonObject.from_dict(data)

                return made_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(JsonObject | None | Unset, data)

        made = _parse_made(d.pop("made", UNSET))

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
            origin=origin,
            split=split,
            parent=parent,
            made=made,
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
