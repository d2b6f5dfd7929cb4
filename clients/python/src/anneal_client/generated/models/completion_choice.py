from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast

if TYPE_CHECKING:
  from ..models.completion_logprobs import CompletionLogprobs

T = TypeVar("T", bound="CompletionChoice")

@_attrs_define
class CompletionChoice:
    """ One completion, or in a stream what is added to it.

        Attributes:
            index (int): The prompt's place times `n`, plus the completion's place among those of its prompt.
            text (str):
            logprobs (CompletionLogprobs | None | Unset):
            finish_reason (None | str | Unset): `stop` or `length`; null before the end.
     """

    index: int
    text: str
    logprobs: CompletionLogprobs | None | Unset = UNSET
    finish_reason: None | str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.completion_logprobs import CompletionLogprobs # noqa: PLC0415
        index = self.index

        text = self.text

        logprobs: dict[str, Any] | None | Unset
        if isinstance(self.logprobs, Unset):
            logprobs = UNSET
        elif isinstance(self.logprobs, CompletionLogprobs):
            logprobs = self.logprobs.to_dict()
        else:
            logprobs = self.logprobs

        finish_reason: None | str | Unset
        if isinstance(self.finish_reason, Unset):
            finish_reason = UNSET
        else:
            finish_reason = self.finish_reason

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "index": index,
            "text": text,
        })
        if logprobs is not UNSET:
            field_dict["logprobs"] = logprobs
        if finish_reason is not UNSET:
            field_dict["finish_reason"] = finish_reason

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.completion_logprobs import CompletionLogprobs # noqa: PLC0415
        d = dict(src_dict)
        index = d.pop("index")

        text = d.pop("text")

        def _parse_logprobs(data: object) -> CompletionLogprobs | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                logprobs_type_0 = CompletionLogprobs.from_dict(data)

                return logprobs_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(CompletionLogprobs | None | Unset, data)

        logprobs = _parse_logprobs(d.pop("logprobs", UNSET))

        def _parse_finish_reason(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        finish_reason = _parse_finish_reason(d.pop("finish_reason", UNSET))

        completion_choice = cls(
            index=index,
            text=text,
            logprobs=logprobs,
            finish_reason=finish_reason,
        )

        completion_choice.additional_properties = d
        return completion_choice

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
