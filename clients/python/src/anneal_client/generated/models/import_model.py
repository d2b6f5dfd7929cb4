from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast

T = TypeVar("T", bound="ImportModel")

@_attrs_define
class ImportModel:
    """ A model to import.

        Attributes:
            path (str): A Hugging Face directory, or a GGUF file, on the server's disk below one of its import roots.
            name (None | str | Unset): A name for people.
     """

    path: str
    name: None | str | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        path = self.path

        name: None | str | Unset
        if isinstance(self.name, Unset):
            name = UNSET
        else:
            name = self.name

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "path": path,
        })
        if name is not UNSET:
            field_dict["name"] = name

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        path = d.pop("path")

        def _parse_name(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        name = _parse_name(d.pop("name", UNSET))

        import_model = cls(
            path=path,
            name=name,
        )

        return import_model
