from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from typing import Literal, cast

T = TypeVar("T", bound="DatasetPull")

@_attrs_define
class DatasetPull:
    """ A data set that a request waits for.

        Attributes:
            id (str): Its number, which no other pull of this server has.
            object_ (Literal['dataset.pull']):
            source (str): As it was asked for.
            bytes_ (int): Of all files of the split.
            bytes_done (int): What has come of them.
     """

    id: str
    object_: Literal['dataset.pull']
    source: str
    bytes_: int
    bytes_done: int
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = self.id

        object_ = self.object_

        source = self.source

        bytes_ = self.bytes_

        bytes_done = self.bytes_done

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "id": id,
            "object": object_,
            "source": source,
            "bytes": bytes_,
            "bytes_done": bytes_done,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        id = d.pop("id")

        object_ = cast(Literal['dataset.pull'] , d.pop("object"))
        if object_ != 'dataset.pull':
            raise ValueError(f"object must match const 'dataset.pull', got '{object_}'")

        source = d.pop("source")

        bytes_ = d.pop("bytes")

        bytes_done = d.pop("bytes_done")

        dataset_pull = cls(
            id=id,
            object_=object_,
            source=source,
            bytes_=bytes_,
            bytes_done=bytes_done,
        )

        dataset_pull.additional_properties = d
        return dataset_pull

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
