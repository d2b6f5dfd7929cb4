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
  from ..models.metadata import Metadata
  from ..models.suite_sets_item import SuiteSetsItem

T = TypeVar("T", bound="Suite")

@_attrs_define
class Suite:
    """ Sets that models are evaluated on.

        Attributes:
            id (str):
            object_ (Literal['suite']):
            sets (list[SuiteSetsItem]): Each is the spec of an evaluation without its model, with every default filled in
                and every reference resolved.
            metadata (Metadata): Pairs of your own: at most 16, keys of at most 64 characters, values of at most 512.
            created_at (int): Unix seconds.
            name (None | str | Unset):
     """

    id: str
    object_: Literal['suite']
    sets: list[SuiteSetsItem]
    metadata: Metadata
    created_at: int
    name: None | str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.metadata import Metadata # noqa: PLC0415
        from ..models.suite_sets_item import SuiteSetsItem # noqa: PLC0415
        id = self.id

        object_ = self.object_

        sets = []
        for sets_item_data in self.sets:
            sets_item = sets_item_data.to_dict()
            sets.append(sets_item)

        metadata = self.metadata.to_dict()

        created_at = self.created_at

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
            "sets": sets,
            "metadata": metadata,
            "created_at": created_at,
        })
        if name is not UNSET:
            field_dict["name"] = name

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.metadata import Metadata # noqa: PLC0415
        from ..models.suite_sets_item import SuiteSetsItem # noqa: PLC0415
        d = dict(src_dict)
        id = d.pop("id")

        object_ = cast(Literal['suite'] , d.pop("object"))
        if object_ != 'suite':
            raise ValueError(f"object must match const 'suite', got '{object_}'")

        sets = []
        _sets = d.pop("sets")
        for sets_item_data in (_sets):
            sets_item = SuiteSetsItem.from_dict(sets_item_data)

            sets.append(sets_item)

        metadata = Metadata.from_dict(d.pop("metadata"))

        created_at = d.pop("created_at")

        def _parse_name(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        name = _parse_name(d.pop("name", UNSET))

        suite = cls(
            id=id,
            object_=object_,
            sets=sets,
            metadata=metadata,
            created_at=created_at,
            name=name,
        )

        suite.additional_properties = d
        return suite

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
