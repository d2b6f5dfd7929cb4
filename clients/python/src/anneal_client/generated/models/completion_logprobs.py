from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast

if TYPE_CHECKING:
  from ..models.completion_logprobs_top_logprobs_type_0_item import CompletionLogprobsTopLogprobsType0Item

T = TypeVar("T", bound="CompletionLogprobs")

@_attrs_define
class CompletionLogprobs:
    """ Log-probabilities of a completion's tokens.

        Attributes:
            tokens (list[str]):
            token_logprobs (list[float]):
            text_offset (list[int]): Where each token begins, in characters of the tokens before.
            top_logprobs (list[CompletionLogprobsTopLogprobsType0Item] | None | Unset): In each place the most probable
                tokens with their log-probabilities; null where none were asked for.
     """

    tokens: list[str]
    token_logprobs: list[float]
    text_offset: list[int]
    top_logprobs: list[CompletionLogprobsTopLogprobsType0Item] | None | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.completion_logprobs_top_logprobs_type_0_item import CompletionLogprobsTopLogprobsType0Item # noqa: PLC0415
        tokens = self.tokens

        token_logprobs = self.token_logprobs

        text_offset = self.text_offset

        top_logprobs: list[dict[str, Any]] | None | Unset
        if isinstance(self.top_logprobs, Unset):
            top_logprobs = UNSET
        elif isinstance(self.top_logprobs, list):
            top_logprobs = []
            for top_logprobs_type_0_item_data in self.top_logprobs:
                top_logprobs_type_0_item = top_logprobs_type_0_item_data.to_dict()
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
        from ..models.completion_logprobs_top_logprobs_type_0_item import CompletionLogprobsTopLogprobsType0Item # noqa: PLC0415
        d = dict(src_dict)
        tokens = cast(list[str], d.pop("tokens"))

        token_logprobs = cast(list[float], d.pop("token_logprobs"))

        text_offset = cast(list[int], d.pop("text_offset"))

        def _parse_top_logprobs(data: object) -> list[CompletionLogprobsTopLogprobsType0Item] | None | Unset:
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
                    top_logprobs_type_0_item = CompletionLogprobsTopLogprobsType0Item.from_dict(top_logprobs_type_0_item_data)

                    top_logprobs_type_0.append(top_logprobs_type_0_item)

                return top_logprobs_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[CompletionLogprobsTopLogprobsType0Item] | None | Unset, data)

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
