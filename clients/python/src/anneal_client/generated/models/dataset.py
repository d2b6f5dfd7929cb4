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
  from ..models.dataset_version import DatasetVersion
  from ..models.metadata import Metadata

T = TypeVar("T", bound="Dataset")

@_attrs_define
class Dataset:
    """ A data set with its newest version.

        Attributes:
            id (str):
            object_ (Literal['dataset']):
            created_at (int): Unix seconds.
            metadata (Metadata): Pairs of your own: at most 16, keys of at most 64 characters, values of at most 512.
            latest (DatasetVersion): One immutable version of a data set.
            name (None | str | Unset):
     """

    id: str
    object_: Literal['dataset']
    created_at: int
    metadata: Metadata
    latest: DatasetVersion
    name: None | str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.dataset_version import DatasetVersion # noqa: PLC0415
        from ..models.metadata import Metadata # noqa: PLC0415
        id = self.id

        object_ = self.object_

        created_at = self.created_at

        metadata = self.metadata.to_dict()

        latest = self.latest.to_dict()

        name: None | str | Unset
        if isinstance(self.name, Unset):
            name = UNSET
        else:
            name = self.name

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "id": id,
            "object": object_,
            "created_at": created_at,
            "metadata": metadata,
            "latest": latest,
        })
        if name is not UNSET:
            field_dict["name"] = name

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.dataset_version import DatasetVersion # noqa: PLC0415
        from ..models.metadata import Metadata # noqa: PLC0415
        d = dict(src_dict)
        id = d.pop("id")

        object_ = cast(Literal['dataset'] , d.pop("object"))
        if object_ != 'dataset':
            raise ValueError(f"object must match const 'dataset', got '{object_}'")

        created_at = d.pop("created_at")

        metadata = Metadata.from_dict(d.pop("metadata"))

        latest = DatasetVersion.from_dict(d.pop("latest"))

        def _parse_name(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        name = _parse_name(d.pop("name", UNSET))

        dataset = cls(
            id=id,
            object_=object_,
            created_at=created_at,
            metadata=metadata,
            latest=latest,
            name=name,
        )

        dataset.additional_properties = d
        return dataset

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
