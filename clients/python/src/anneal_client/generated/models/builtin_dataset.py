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
  from ..models.builtin_row import BuiltinRow
  from ..models.json_object import JsonObject

T = TypeVar("T", bound="BuiltinDataset")

@_attrs_define
class BuiltinDataset:
    """ A data set that is part of the program.

        Attributes:
            id (str): What specs name it by, with the parameters that differ from the defaults.
            object_ (Literal['dataset.builtin']):
            summary (str): What is asked.
            verifier (JsonObject): Any JSON object.
            train_rows (int): Rows to train on.
            eval_rows (int): Rows that are held out; none is among those to train on, under any seed or difficulty.
            digest (str): `sha256:` and the digest of its rows.
            examples (list[BuiltinRow]): The first rows of each split.
            difficulty (None | str | Unset): What grows with the parameter `difficulty`, 1 to 10; null where there are no
                parameters.
     """

    id: str
    object_: Literal['dataset.builtin']
    summary: str
    verifier: JsonObject
    train_rows: int
    eval_rows: int
    digest: str
    examples: list[BuiltinRow]
    difficulty: None | str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.builtin_row import BuiltinRow # noqa: PLC0415
        from ..models.json_object import JsonObject # noqa: PLC0415
        id = self.id

        object_ = self.object_

        summary = self.summary

        verifier = self.verifier.to_dict()

        train_rows = self.train_rows

        eval_rows = self.eval_rows

        digest = self.digest

        examples = []
        for examples_item_data in self.examples:
            examples_item = examples_item_data.to_dict()
            examples.append(examples_item)

        difficulty: None | str | Unset
        if isinstance(self.difficulty, Unset):
            difficulty = UNSET
        else:
            difficulty = self.difficulty

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "id": id,
            "object": object_,
            "summary": summary,
            "verifier": verifier,
            "train_rows": train_rows,
            "eval_rows": eval_rows,
            "digest": digest,
            "examples": examples,
        })
        if difficulty is not UNSET:
            field_dict["difficulty"] = difficulty

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.builtin_row import BuiltinRow # noqa: PLC0415
        from ..models.json_object import JsonObject # noqa: PLC0415
        d = dict(src_dict)
        id = d.pop("id")

        object_ = cast(Literal['dataset.builtin'] , d.pop("object"))
        if object_ != 'dataset.builtin':
            raise ValueError(f"object must match const 'dataset.builtin', got '{object_}'")

        summary = d.pop("summary")

        verifier = JsonObject.from_dict(d.pop("verifier"))

        train_rows = d.pop("train_rows")

        eval_rows = d.pop("eval_rows")

        digest = d.pop("digest")

        examples = []
        _examples = d.pop("examples")
        for examples_item_data in (_examples):
            examples_item = BuiltinRow.from_dict(examples_item_data)

            examples.append(examples_item)

        def _parse_difficulty(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        difficulty = _parse_difficulty(d.pop("difficulty", UNSET))

        builtin_dataset = cls(
            id=id,
            object_=object_,
            summary=summary,
            verifier=verifier,
            train_rows=train_rows,
            eval_rows=eval_rows,
            digest=digest,
            examples=examples,
            difficulty=difficulty,
        )

        builtin_dataset.additional_properties = d
        return builtin_dataset

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
