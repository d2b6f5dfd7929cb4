from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from typing import cast
from typing import Literal, cast

if TYPE_CHECKING:
  from ..models.limits import Limits
  from ..models.project_usage import ProjectUsage

T = TypeVar("T", bound="Project")

@_attrs_define
class Project:
    """ A project. It need not be made: it is there once a key or a job names it.

        Attributes:
            id (str): The name.
            object_ (Literal['project']):
            limits (Limits): What a project may use; where a field is null or absent, what the server's settings say, and
                else no limit.
            usage (ProjectUsage): What a project uses at the moment.
     """

    id: str
    object_: Literal['project']
    limits: Limits
    usage: ProjectUsage
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.limits import Limits # noqa: PLC0415
        from ..models.project_usage import ProjectUsage # noqa: PLC0415
        id = self.id

        object_ = self.object_

        limits = self.limits.to_dict()

        usage = self.usage.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "id": id,
            "object": object_,
            "limits": limits,
            "usage": usage,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.limits import Limits # noqa: PLC0415
        from ..models.project_usage import ProjectUsage # noqa: PLC0415
        d = dict(src_dict)
        id = d.pop("id")

        object_ = cast(Literal['project'] , d.pop("object"))
        if object_ != 'project':
            raise ValueError(f"object must match const 'project', got '{object_}'")

        limits = Limits.from_dict(d.pop("limits"))

        usage = ProjectUsage.from_dict(d.pop("usage"))

        project = cls(
            id=id,
            object_=object_,
            limits=limits,
            usage=usage,
        )

        project.additional_properties = d
        return project

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
