from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast

if TYPE_CHECKING:
  from ..models.completion_logprobs_top_logprobs_type_0_item_type_0 import CompletionLogprobsTopLogprobsType0ItemType0

T = TypeVar("T", bound="CompletionLogprobs")

@_attrs_define
class CompletionLogprobs:
    """ Log-probabilities of a completion's tokens.

        Attributes:
            tokens (list[str]):
            token_logprobs (list[float | None]): Null for the first token of an echoed prompt.
            text_offset (list[int]): Where each token begins, in characters of the tokens before.
            top_logprobs (list[CompletionLogprobsTopLogprobsType0ItemType0 | None] | None | Unset): In each place the most
                probable tokens with their log-probabilities, null in that of a prompt's first; null as a whole where none
                were asked for.
     """

    tokens: list[str]
    token_logprobs: list[float | None]
    text_offset: list[int]
    top_logprobs: list[CompletionLogprobsTopLogprobsType0ItemType0 | None] | None | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.completion_logprobs_top_logprobs_type_0_item_type_0 import CompletionLogprobsTopLogprobsType0ItemType0 # noqa: PLC0415
        tokens = self.tokens

        token_logprobs = []
        for token_logprobs_item_data in self.token_logprobs:
            token_logprobs_item: float | None
            token_logprobs_item = token_logprobs_item_data
            token_logprobs.append(token_logprobs_item)

        text_offset = self.text_offset

        top_logprobs: list[dict[str, Any] | None] | None | Unset
        if isinstance(self.top_logprobs, Unset):
            top_logprobs = UNSET
        elif isinstance(self.top_logprobs, list):
            top_logprobs = []
            for top_logprobs_type_0_item_data in self.top_logprobs:
                top_logprobs_type_0_item: dict[str, Any] | None
                if isinstance(top_logprobs_type_0_item_data, CompletionLogprobsTopLogprobsType0ItemType0):
                    top_logprobs_type_0_item = top_logprobs_type_0_item_data.to_dict()
                else:
                    top_logprobs_type_0_item = top_logprobs_type_0_item_data
                top_logprobs.append(top_logprobs_type_0_item)

        else:
            top_logprobs = self.top_logprobs

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "tokens": tokens,
            "token_logprobs": token_logprobs,
            "text_offset": text_offset,
        })
        if top_logprobs is not UNSET:
            field_dict["top_logprobs"] = top_logprobs

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.completion_logprobs_top_logprobs_type_0_item_type_0 import CompletionLogprobsTopLogprobsType0ItemType0 # noqa: PLC0415
        d = dict(src_dict)
        tokens = cast(list[str], d.pop("tokens"))

        token_logprobs = []
        _token_logprobs = d.pop("token_logprobs")
        for token_logprobs_item_data in (_token_logprobs):
            def _parse_token_logprobs_item(data: object) -> float | None:
                if data is None:
                    return data
                return cast(float | None, data)

            token_logprobs_item = _parse_token_logprobs_item(token_logprobs_item_data)

            token_logprobs.append(token_logprobs_item)

        text_offset = cast(list[int], d.pop("text_offset"))

        def _parse_top_logprobs(data: object) -> list[CompletionLogprobsTopLogprobsType0ItemType0 | None] | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                top_logprobs_type_0 = []
                _top_logprobs_type_0 = data
                for top_logprobs_type_0_item_data in (_top_logprobs_type_0):
                    def _parse_top_logprobs_type_0_item(data: object) -> CompletionLogprobsTopLogprobsType0ItemType0 | None:
                        if data is None:
                            return data
                        try:
                            if not isinstance(data, dict):
                                raise TypeError()
                            top_logprobs_type_0_item_type_0 = CompletionLogprobsTopLogprobsType0ItemType0.from_dict(data)

                            return top_logprobs_type_0_item_type_0
                        except (TypeError, ValueError, AttributeError, KeyError):
                            pass
                        return cast(CompletionLogprobsTopLogprobsType0ItemType0 | None, data)

                    top_logprobs_type_0_item = _parse_top_logprobs_type_0_item(top_logprobs_type_0_item_data)

                    top_logprobs_type_0.append(top_logprobs_type_0_item)

                return top_logprobs_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[CompletionLogprobsTopLogprobsType0ItemType0 | None] | None | Unset, data)

        top_logprobs = _parse_top_logprobs(d.pop("top_logprobs", UNSET))

        completion_logprobs = cls(
            tokens=tokens,
            token_logprobs=token_logprobs,
            text_offset=text_offset,
            top_logprobs=top_logprobs,
        )

        completion_logprobs.additional_properties = d
        return completion_logprobs

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
