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
  from ..models.completion_choice import CompletionChoice
  from ..models.usage import Usage

T = TypeVar("T", bound="Completion")

@_attrs_define
class Completion:
    """ Completions of prompts; with `stream` a part of them.

        Attributes:
            id (str): The same in all chunks of a stream.
            object_ (Literal['text_completion']):
            created (int): Unix seconds.
            model (str): As the request names it.
            system_fingerprint (str): Changes when the weights do.
            choices (list[CompletionChoice]):
            usage (None | Unset | Usage): In a stream only with `stream_options.include_usage`, and null but in the last
                chunk.
     """

    id: str
    object_: Literal['text_completion']
    created: int
    model: str
    system_fingerprint: str
    choices: list[CompletionChoice]
    usage: None | Unset | Usage = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.completion_choice import CompletionChoice # noqa: PLC0415
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

        usage: dict[str, Any] | None | Unset
        if isinstance(self.usage, Unset):
            usage = UNSET
        elif isinstance(self.usage, Usage):
            usage = self.usage.to_dict()
        else:
            usage = self.usage

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "id": id,
            "object": object_,
            "created": created,
            "model": model,
            "system_fingerprint": system_fingerprint,
            "choices": choices,
        })
        if usage is not UNSET:
            field_dict["usage"] = usage

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.completion_choice import CompletionChoice # noqa: PLC0415
        from ..models.usage import Usage # noqa: PLC0415
        d = dict(src_dict)
        id = d.pop("id")

        object_ = cast(Literal['text_completion'] , d.pop("object"))
        if object_ != 'text_completion':
            raise ValueError(f"object must match const 'text_completion', got '{object_}'")

        created = d.pop("created")

        model = d.pop("model")

        system_fingerprint = d.pop("system_fingerprint")

        choices = []
        _choices = d.pop("choices")
        for choices_item_data in (_choices):
            choices_item = CompletionChoice.from_dict(choices_item_data)

            choices.append(choices_item)

        def _parse_usage(data: object) -> None | Unset | Usage:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                usage_type_0 = Usage.from_dict(data)

                return usage_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | Unset | Usage, data)

        usage = _parse_usage(d.pop("usage", UNSET))

        completion = cls(
            id=id,
            object_=object_,
            created=created,
            model=model,
            system_fingerprint=system_fingerprint,
            choices=choices,
            usage=usage,
        )

        completion.additional_properties = d
        return completion

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
