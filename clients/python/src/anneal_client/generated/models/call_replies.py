from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from typing import cast

T = TypeVar("T", bound="CallReplies")

@_attrs_define
class CallReplies:
    """ What a worker says to a request for completions.

        Attributes:
            first (int): How many it has said before.
            replies (list[Any]): `"accepted"` or `"busy"`; then `{"began": {"prompt_tokens"}}`, `{"piece": {"choice",
                "text", "tokens"}}` and `{"ended":
                {"choice", "finish", "tokens"}}`, with `"alive"` where nothing is new; at last `"done"` or `{"failed": {"code",
                "message"}}`.
     """

    first: int
    replies: list[Any]

    def to_dict(self) -> dict[str, Any]:
        first = self.first

        replies = self.replies

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "first": first,
            "replies": replies,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        first = d.pop("first")

        replies = cast(list[Any], d.pop("replies"))

        call_replies = cls(
            first=first,
            replies=replies,
        )

        return call_replies
