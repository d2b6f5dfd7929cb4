from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast

if TYPE_CHECKING:
  from ..models.json_object import JsonObject
  from ..models.update_job_metadata_type_0 import UpdateJobMetadataType0

T = TypeVar("T", bound="UpdateJob")

@_attrs_define
class UpdateJob:
    """ What to change; what is left out stays.

        Attributes:
            name (None | str | Unset): Null removes it.
            metadata (None | Unset | UpdateJobMetadataType0): Pairs to set; a null removes its key, and null for all of them
                removes them all.
            priority (int | None | Unset): Of a project's jobs those with a higher priority are claimed first. Only while
                the job is not finished.
            budget (JsonObject | None | Unset): As `budget` of the spec; null removes it. Only while the job is not
                finished.
     """

    name: None | str | Unset = UNSET
    metadata: None | Unset | UpdateJobMetadataType0 = UNSET
    priority: int | None | Unset = UNSET
    budget: JsonObject | None | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        from ..models.json_object import JsonObject # noqa: PLC0415
        from ..models.update_job_metadata_type_0 import UpdateJobMetadataType0 # noqa: PLC0415
        name: None | str | Unset
        if isinstance(self.name, Unset):
            name = UNSET
        else:
            name = self.name

        metadata: dict[str, Any] | None | Unset
        if isinstance(self.metadata, Unset):
            metadata = UNSET
        elif isinstance(self.metadata, UpdateJobMetadataType0):
            metadata = self.metadata.to_dict()
        else:
            metadata = self.metadata

        priority: int | None | Unset
        if isinstance(self.priority, Unset):
            priority = UNSET
        else:
            priority = self.priority

        budget: dict[str, Any] | None | Unset
        if isinstance(self.budget, Unset):
            budget = UNSET
        elif isinstance(self.budget, JsonObject):
            budget = self.budget.to_dict()
        else:
            budget = self.budget

        field_dict: dict[str, Any] = {}

        field_dict.update({
        })
        if name is not UNSET:
            field_dict["name"] = name
        if metadata is not UNSET:
            field_dict["metadata"] = metadata
        if priority is not UNSET:
            field_dict["priority"] = priority
        if budget is not UNSET:
            field_dict["budget"] = budget

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.json_object import JsonObject # noqa: PLC0415
        from ..models.update_job_metadata_type_0 import UpdateJobMetadataType0 # noqa: PLC0415
        d = dict(src_dict)
        def _parse_name(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        name = _parse_name(d.pop("name", UNSET))

        def _parse_metadata(data: object) -> None | Unset | UpdateJobMetadataType0:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                metadata_type_0 = UpdateJobMetadataType0.from_dict(data)

                return metadata_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | Unset | UpdateJobMetadataType0, data)

        metadata = _parse_metadata(d.pop("metadata", UNSET))

        def _parse_priority(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        priority = _parse_priority(d.pop("priority", UNSET))

        def _parse_budget(data: object) -> JsonObject | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                budget_type_0 = JsonObject.from_dict(data)

                return budget_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(JsonObject | None | Unset, data)

        budget = _parse_budget(d.pop("budget", UNSET))

        update_job = cls(
            name=name,
            metadata=metadata,
            priority=priority,
            budget=budget,
        )

        return update_job
