from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast

if TYPE_CHECKING:
  from ..models.histogram import Histogram

T = TypeVar("T", bound="TokenLengths")

@_attrs_define
class TokenLengths:
    """ How many tokens rows have.

        Attributes:
            model (str): The model by whose tokenizer and chat template they were counted.
            rows (int): Rows that were counted, from all over the file: at most 20,000.
            failed (int): Of these, rows that no prompt can be made of.
            over_context (int): Rows with as many tokens as the model's context has, or more.
            context (int): Tokens of the model's context.
            prompts (Histogram): Numbers of tokens.
            completions (Histogram | None | Unset): Null where no row has a completion.
     """

    model: str
    rows: int
    failed: int
    over_context: int
    context: int
    prompts: Histogram
    completions: Histogram | None | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.histogram import Histogram # noqa: PLC0415
        model = self.model

        rows = self.rows

        failed = self.failed

        over_context = self.over_context

        context = self.context

        prompts = self.prompts.to_dict()

        completions: dict[str, Any] | None | Unset
        if isinstance(self.completions, Unset):
            completions = UNSET
        elif isinstance(self.completions, Histogram):
            completions = self.completions.to_dict()
        else:
            completions = self.completions

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "model": model,
            "rows": rows,
            "failed": failed,
            "over_context": over_context,
            "context": context,
            "prompts": prompts,
        })
        if completions is not UNSET:
            field_dict["completions"] = completions

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.histogram import Histogram # noqa: PLC0415
        d = dict(src_dict)
        model = d.pop("model")

        rows = d.pop("rows")

        failed = d.pop("failed")

        over_context = d.pop("over_context")

        context = d.pop("context")

        prompts = Histogram.from_dict(d.pop("prompts"))

        def _parse_completions(data: object) -> Histogram | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                completions_type_0 = Histogram.from_dict(data)

                return completions_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(Histogram | None | Unset, data)

        completions = _parse_completions(d.pop("completions", UNSET))

        token_lengths = cls(
            model=model,
            rows=rows,
            failed=failed,
            over_context=over_context,
            context=context,
            prompts=prompts,
            completions=completions,
        )

        token_lengths.additional_properties = d
        return token_lengths

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
