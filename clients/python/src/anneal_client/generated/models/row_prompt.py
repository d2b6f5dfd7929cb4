from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast
from typing import Literal, cast

T = TypeVar("T", bound="RowPrompt")

@_attrs_define
class RowPrompt:
    """ A row as a model reads it.

        Attributes:
            row (int): The number of the row, counted from 0.
            pieces (list[str]): The text of each token.
            object_ (Literal['dataset.prompt'] | Unset):
            text (None | str | Unset): The prompt with the model's chat template around it; null where none can be made.
            error (None | str | Unset): Why no prompt can be made.
     """

    row: int
    pieces: list[str]
    object_: Literal['dataset.prompt'] | Unset = UNSET
    text: None | str | Unset = UNSET
    error: None | str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        row = self.row

        pieces = self.pieces

        object_ = self.object_

        text: None | str | Unset
        if isinstance(self.text, Unset):
            text = UNSET
        else:
            text = self.text

        error: None | str | Unset
        if isinstance(self.error, Unset):
            error = UNSET
        else:
            error = self.error

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "row": row,
            "pieces": pieces,
        })
        if object_ is not UNSET:
            field_dict["object"] = object_
        if text is not UNSET:
            field_dict["text"] = text
        if error is not UNSET:
            field_dict["error"] = error

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        row = d.pop("row")

        pieces = cast(list[str], d.pop("pieces"))

        object_ = cast(Literal['dataset.prompt'] | Unset , d.pop("object", UNSET))
        if object_ != 'dataset.prompt'and not isinstance(object_, Unset):
            raise ValueError(f"object must match const 'dataset.prompt', got '{object_}'")

        def _parse_text(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        text = _parse_text(d.pop("text", UNSET))

        def _parse_error(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        error = _parse_error(d.pop("error", UNSET))

        row_prompt = cls(
            row=row,
            pieces=pieces,
            object_=object_,
            text=text,
            error=error,
        )

        row_prompt.additional_properties = d
        return row_prompt

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
