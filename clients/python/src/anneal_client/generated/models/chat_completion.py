from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from typing import cast
from typing import Literal, cast

if TYPE_CHECKING:
  from ..models.chat_choice import ChatChoice
  from ..models.usage import Usage

T = TypeVar("T", bound="ChatCompletion")

@_attrs_define
class ChatCompletion:
    """ Completions of a conversation.

        Attributes:
            id (str):
            object_ (Literal['chat.completion']):
            created (int): Unix seconds.
            model (str): As the request names it.
            system_fingerprint (str): Changes when the weights do.
            choices (list[ChatChoice]):
            usage (Usage): Tokens that were read and drawn.
     """

    id: str
    object_: Literal['chat.completion']
    created: int
    model: str
    system_fingerprint: str
    choices: list[ChatChoice]
    usage: Usage
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.chat_choice import ChatChoice # noqa: PLC0415
        from ..models.usage import Usage # noqa: PLC0415
        id = self.id

        object_ = self.object_

        created = self.created

        model = self.model

        system_fingerprint = self.system_fingerprint

        choices = []
        for choices_item_data in self.choices:
            choices_item = choices_item_data.to_dict()
            choices.append(choices_item)

        usage = self.usage.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "id": id,
            "object": object_,
            "created": created,
            "model": model,
            "system_fingerprint": system_fingerprint,
            "choices": choices,
            "usage": usage,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.chat_choice import ChatChoice # noqa: PLC0415
        from ..models.usage import Usage # noqa: PLC0415
        d = dict(src_dict)
        id = d.pop("id")

        object_ = cast(Literal['chat.completion'] , d.pop("object"))
        if object_ != 'chat.completion':
            raise ValueError(f"object must match const 'chat.completion', got '{object_}'")

        created = d.pop("created")

        model = d.pop("model")

        system_fingerprint = d.pop("system_fingerprint")

        choices = []
        _choices = d.pop("choices")
        for choices_item_data in (_choices):
            choices_item = ChatChoice.from_dict(choices_item_data)

            choices.append(choices_item)

        usage = Usage.from_dict(d.pop("usage"))

        chat_completion = cls(
            id=id,
            object_=object_,
            created=created,
            model=model,
            system_fingerprint=system_fingerprint,
            choices=choices,
            usage=usage,
        )

        chat_completion.additional_properties = d
        return chat_completion

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
