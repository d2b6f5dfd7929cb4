from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..models.prompt_format import PromptFormat
from ..types import UNSET, Unset
from typing import cast

T = TypeVar("T", bound="DatasetSpec")

@_attrs_define
class DatasetSpec:
    """ Which rows are used and how they become prompts.

        Attributes:
            train (str): Rows to train on: a data set (`ds_...`, its latest version), a version (`dsv_...`),
                `builtin:arithmetic`,
                or `builtin:arithmetic-slips` (the same with careless completions, for `sft`).
            eval_ (None | str | Unset): Held-out rows for evaluation; without it nothing is evaluated. Built-ins have a
                split of their own.
            format_ (PromptFormat | Unset): How a row's prompt becomes text for the model.

                - `auto`: `chat` when the model has a chat template, otherwise `text`.
                - `chat`: Through the model's chat template, as one user message (or the row's `messages`).
                - `text`: As it stands.
            system (None | str | Unset): A system message put before every prompt (chat format only).
            template (None | str | Unset): Text around a plain prompt; `{prompt}` stands for the row's prompt.
     """

    train: str
    eval_: None | str | Unset = UNSET
    format_: PromptFormat | Unset = UNSET
    system: None | str | Unset = UNSET
    template: None | str | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        train = self.train

        eval_: None | str | Unset
        if isinstance(self.eval_, Unset):
            eval_ = UNSET
        else:
            eval_ = self.eval_

        format_: str | Unset = UNSET
        if not isinstance(self.format_, Unset):
            format_ = self.format_.value

        system: None | str | Unset
        if isinstance(self.system, Unset):
            system = UNSET
        else:
            system = self.system

        template: None | str | Unset
        if isinstance(self.template, Unset):
            template = UNSET
        else:
            template = self.template

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "train": train,
        })
        if eval_ is not UNSET:
            field_dict["eval"] = eval_
        if format_ is not UNSET:
            field_dict["format"] = format_
        if system is not UNSET:
            field_dict["system"] = system
        if template is not UNSET:
            field_dict["template"] = template

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        train = d.pop("train")

        def _parse_eval_(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        eval_ = _parse_eval_(d.pop("eval", UNSET))

        _format_ = d.pop("format", UNSET)
        format_: PromptFormat | Unset
        if isinstance(_format_,  Unset):
            format_ = UNSET
        else:
            format_ = PromptFormat(_format_)

        def _parse_system(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        system = _parse_system(d.pop("system", UNSET))

        def _parse_template(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        template = _parse_template(d.pop("template", UNSET))

        dataset_spec = cls(
            train=train,
            eval_=eval_,
            format_=format_,
            system=system,
            template=template,
        )

        return dataset_spec
