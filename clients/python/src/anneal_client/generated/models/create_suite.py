from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast

if TYPE_CHECKING:
  from ..models.create_suite_sets_item import CreateSuiteSetsItem
  from ..models.metadata import Metadata

T = TypeVar("T", bound="CreateSuite")

@_attrs_define
class CreateSuite:
    """ A suite to make.

        Attributes:
            sets (list[CreateSuiteSetsItem]): Each is what `POST /v1/evaluations` takes without `model`, with a `name` of up
                to 64 characters that no other set has.
            name (None | str | Unset): A name for people.
            metadata (Metadata | Unset): Pairs of your own: at most 16, keys of at most 64 characters, values of at most
                512.
     """

    sets: list[CreateSuiteSetsItem]
    name: None | str | Unset = UNSET
    metadata: Metadata | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        from ..models.create_suite_sets_item import CreateSuiteSetsItem # noqa: PLC0415
        from ..models.metadata import Metadata # noqa: PLC0415
        sets = []
        for sets_item_data in self.sets:
            sets_item = sets_item_data.to_dict()
            sets.append(sets_item)

        name: None | str | Unset
        if isinstance(self.name, Unset):
            name = UNSET
        else:
            name = self.name

        metadata: dict[str, Any] | Unset = UNSET
        if not isinstance(self.metadata, Unset):
            metadata = self.metadata.to_dict()

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "sets": sets,
        })
        if name is not UNSET:
            field_dict["name"] = name
        if metadata is not UNSET:
            field_dict["metadata"] = metadata

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.create_suite_sets_item import CreateSuiteSetsItem # noqa: PLC0415
        from ..models.metadata import Metadata # noqa: PLC0415
        d = dict(src_dict)
        sets = []
        _sets = d.pop("sets")
        for sets_item_data in (_sets):
            sets_item = CreateSuiteSetsItem.from_dict(sets_item_data)

            sets.append(sets_item)

        def _parse_name(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        name = _parse_name(d.pop("name", UNSET))

        _metadata = d.pop("metadata", UNSET)
        metadata: Metadata | Unset
        if isinstance(_metadata,  Unset):
            metadata = UNSET
        else:
            metadata = Metadata.from_dict(_metadata)

        create_suite = cls(
            sets=sets,
            name=name,
            metadata=metadata,
        )

        return create_suite
