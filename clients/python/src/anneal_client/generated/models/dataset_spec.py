from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..models.prompt_format import PromptFormat
from ..models.row_order import RowOrder
from ..models.row_sampling import RowSampling
from ..models.train_on import TrainOn
from ..types import UNSET, Unset
from typing import cast

T = TypeVar("T", bound="DatasetSpec")

@_attrs_define
class DatasetSpec:
    """ Which rows are used and how they become prompts.

        Attributes:
            train (str): Rows to train on: a data set (`ds_...`, its latest version), a version (`dsv_...`), or a built-in
                one, such as
                `builtin:arithmetic`, `builtin:arithmetic-slips` (the same with careless completions, for `sft`), or
                `builtin:countdown?difficulty=3&seed=7`. Of data that was split these are the rows that are not
                held out.
            eval_ (None | str | Unset): Held-out rows for evaluation; of data that was split, those that are held out. By
                default those of `train`, where it
                was split, as built-ins are; otherwise nothing is evaluated.
            format_ (PromptFormat | Unset): How a row's prompt becomes text for the model.

                - `auto`: `chat` when the model has a chat template, otherwise `text`.
                - `chat`: Through the model's chat template, as one user message (or the row's `messages`).
                - `text`: As it stands.
            system (None | str | Unset): A system message put before every prompt (chat format only).
            template (None | str | Unset): Text around a plain prompt; `{prompt}` stands for the row's prompt.
            chat_template (None | str | Unset): A chat template in Jinja to use in the place of the model's own; the
                finished model carries it.
            thinking (bool | None | Unset): Have the model reason before it answers, or not, where its chat template knows
                both (`enable_thinking`). With
                true, verifiers judge what follows the last `</think>` of a completion, and nothing where there is none. By
                default true for such a template, and nothing for others.
            max_prompt_tokens (int | None | Unset): The longest prompt in tokens; a longer one is an error. By default what
                leaves room in the model's context. With
                `sampling.max_new_tokens` it makes the longest sequence, at which completions of rows are cut, and from which
                rotary positions that depend on length (`dynamic`, `longrope`) are chosen.
            train_on (TrainOn | Unset): What is learnt of a conversation.

                - `last`: The completion, which answers the last message.
                - `all_assistant`: Every message of the assistant, and the completion.
            order (RowOrder | Unset): The order in which rows are gone through.

                - `shuffled`: In random order, in another one on each pass.
                - `file`: As they stand in the file, on every pass.
                - `easy_first`: On the first pass by `difficulty_column`, the smallest number first and equal ones as they stand
                in the file; later passes are shuffled.
            difficulty_column (None | str | Unset): The column that `easy_first` goes by: a number in every row, the smaller
                the easier.
            sampling (RowSampling | Unset): How often each row comes.

                - `uniform`: Each once before any comes again.
                - `adaptive`: Rows that the policy now solves sometimes come more often than those that it always or never
                solves, which come again now and then, for the policy changes.
            rows (int | None | Unset): Train on so many of the rows, which the seed chooses at random; by default on all of
                them.
     """

    train: str
    eval_: None | str | Unset = UNSET
    format_: PromptFormat | Unset = UNSET
    system: None | str | Unset = UNSET
    template: None | str | Unset = UNSET
    chat_template: None | str | Unset = UNSET
    thinking: bool | None | Unset = UNSET
    max_prompt_tokens: int | None | Unset = UNSET
    train_on: TrainOn | Unset = UNSET
    order: RowOrder | Unset = UNSET
    difficulty_column: None | str | Unset = UNSET
    sampling: RowSampling | Unset = UNSET
    rows: int | None | Unset = UNSET

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

        chat_template: None | str | Unset
        if isinstance(self.chat_template, Unset):
            chat_template = UNSET
        else:
            chat_template = self.chat_template

        thinking: bool | None | Unset
        if isinstance(self.thinking, Unset):
            thinking = UNSET
        else:
            thinking = self.thinking

        max_prompt_tokens: int | None | Unset
        if isinstance(self.max_prompt_tokens, Unset):
            max_prompt_tokens = UNSET
        else:
            max_prompt_tokens = self.max_prompt_tokens

        train_on: str | Unset = UNSET
        if not isinstance(self.train_on, Unset):
            train_on = self.train_on.value

        order: str | Unset = UNSET
        if not isinstance(self.order, Unset):
            order = self.order.value

        difficulty_column: None | str | Unset
        if isinstance(self.difficulty_column, Unset):
            difficulty_column = UNSET
        else:
            difficulty_column = self.difficulty_column

        sampling: str | Unset = UNSET
        if not isinstance(self.sampling, Unset):
            sampling = self.sampling.value

        rows: int | None | Unset
        if isinstance(self.rows, Unset):
            rows = UNSET
        else:
            rows = self.rows

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
        if chat_template is not UNSET:
            field_dict["chat_template"] = chat_template
        if thinking is not UNSET:
            field_dict["thinking"] = thinking
        if max_prompt_tokens is not UNSET:
            field_dict["max_prompt_tokens"] = max_prompt_tokens
        if train_on is not UNSET:
            field_dict["train_on"] = train_on
        if order is not UNSET:
            field_dict["order"] = order
        if difficulty_column is not UNSET:
            field_dict["difficulty_column"] = difficulty_column
        if sampling is not UNSET:
            field_dict["sampling"] = sampling
        if rows is not UNSET:
            field_dict["rows"] = rows

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

        def _parse_chat_template(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        chat_template = _parse_chat_template(d.pop("chat_template", UNSET))

        def _parse_thinking(data: object) -> bool | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(bool | None | Unset, data)

        thinking = _parse_thinking(d.pop("thinking", UNSET))

        def _parse_max_prompt_tokens(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        max_prompt_tokens = _parse_max_prompt_tokens(d.pop("max_prompt_tokens", UNSET))

        _train_on = d.pop("train_on", UNSET)
        train_on: TrainOn | Unset
        if isinstance(_train_on,  Unset):
            train_on = UNSET
        else:
            train_on = TrainOn(_train_on)

        _order = d.pop("order", UNSET)
        order: RowOrder | Unset
        if isinstance(_order,  Unset):
            order = UNSET
        else:
            order = RowOrder(_order)

        def _parse_difficulty_column(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        difficulty_column = _parse_difficulty_column(d.pop("difficulty_column", UNSET))

        _sampling = d.pop("sampling", UNSET)
        sampling: RowSampling | Unset
        if isinstance(_sampling,  Unset):
            sampling = UNSET
        else:
            sampling = RowSampling(_sampling)

        def _parse_rows(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        rows = _parse_rows(d.pop("rows", UNSET))

        dataset_spec = cls(
            train=train,
            eval_=eval_,
            format_=format_,
            system=system,
            template=template,
            chat_template=chat_template,
            thinking=thinking,
            max_prompt_tokens=max_prompt_tokens,
            train_on=train_on,
            order=order,
            difficulty_column=difficulty_column,
            sampling=sampling,
            rows=rows,
        )

        return dataset_spec
