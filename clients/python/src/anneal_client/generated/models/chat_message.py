from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..models.role import Role
from ..types import UNSET, Unset
from typing import cast

if TYPE_CHECKING:
  from ..models.chat_content_part import ChatContentPart

T = TypeVar("T", bound="ChatMessage")

@_attrs_define
class ChatMessage:
    """ One message of a conversation.

        Attributes:
            role (Role): Who speaks.
            content (list[ChatContentPart] | str): What is said: a text, or parts of it.
            name (None | str | Unset): Taken and not used: chat templates have no place for it.
     """

    role: Role
    content: list[ChatContentPart] | str
    name: None | str | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        from ..models.chat_content_part import ChatContentPart # noqa: PLC0415
        role = self.role.value

        content: list[dict[str, Any]] | str
        if isinstance(self.content, list):
            content = []
            for componentsschemas_content_type_1_item_data in self.content:
                componentsschemas_content_type_1_item = componentsschemas_content_type_1_item_data.to_dict()
                content.append(componentsschemas_content_type_1_item)

        else:
            content = self.content

        name: None | str | Unset
        if isinstance(self.name, Unset):
            name = UNSET
        else:
            name = self.name

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "role": role,
            "content": content,
        })
        if name is not UNSET:
            field_dict["name"] = name

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.chat_content_part import ChatContentPart # noqa: PLC0415
        d = dict(src_dict)
        role = Role(d.pop("role"))

        def _parse_content(data: object) -> list[ChatContentPart] | str:
            try:
                if not isinstance(data, list):
                    raise TypeError()
                componentsschemas_content_type_1 = []
                _componentsschemas_content_type_1 = data
                for componentsschemas_content_type_1_item_data in (_componentsschemas_content_type_1):
                    componentsschemas_content_type_1_item = ChatContentPart.from_dict(componentsschemas_content_type_1_item_data)

                    componentsschemas_content_type_1.append(componentsschemas_content_type_1_item)

                return componentsschemas_content_type_1
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[ChatContentPart] | str, data)

        content = _parse_content(d.pop("content"))

        def _parse_name(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        name = _parse_name(d.pop("name", UNSET))

        chat_message = cls(
            role=role,
            content=content,
            name=name,
        )

        return chat_message
