from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..models.verifier_multiple_choice_answer import VerifierMultipleChoiceAnswer
from ..models.verifier_multiple_choice_extract import VerifierMultipleChoiceExtract
from ..types import UNSET, Unset
from typing import cast
from typing import Literal, cast

T = TypeVar("T", bound="VerifierMultipleChoice")

@_attrs_define
class VerifierMultipleChoice:
    """ The option that the completion decides for, by letter or in words, is the expected one.

        Attributes:
            type_ (Literal['multiple_choice']):
            options (int | Unset): How many options there are, lettered from A, where no column has them. Default: 10.
            options_column (None | str | Unset): The column with the options of a row, so that they are found in words as
                well: a list of texts, an object from
                letters to texts, or an object with the lists `label` and `text`.
            answer (VerifierMultipleChoiceAnswer | Unset): - `letter`: The letter or label of the right option, such as `B`
                or `(b)`.
                - `index`: Its number, from `first_index` on.
                - `text`: Its words.
            first_index (int | Unset): The number of the first option when `answer` is `index`. Default: 0.
            extract (VerifierMultipleChoiceExtract | Unset): - `auto`: Wherever completions decide.
                - `boxed`: In the last `\\boxed{}` only.
                - `tag`: Between the last pair of tags only.
                - `all`: The completion is the option and nothing else.
            open_tag (str | Unset): Begins the decision. Default: '<answer>'.
            close_tag (str | Unset): Ends the decision. Default: '</answer>'.
            answer_column (None | str | Unset): The column of the expected answer; by default the data set's answer column.
            time_limit_seconds (float | Unset): Seconds one verification may take. Default: 10.0.
     """

    type_: Literal['multiple_choice']
    options: int | Unset = 10
    options_column: None | str | Unset = UNSET
    answer: VerifierMultipleChoiceAnswer | Unset = UNSET
    first_index: int | Unset = 0
    extract: VerifierMultipleChoiceExtract | Unset = UNSET
    open_tag: str | Unset = '<answer>'
    close_tag: str | Unset = '</answer>'
    answer_column: None | str | Unset = UNSET
    time_limit_seconds: float | Unset = 10.0

    def to_dict(self) -> dict[str, Any]:
        type_ = self.type_

        options = self.options

        options_column: None | str | Unset
        if isinstance(self.options_column, Unset):
            options_column = UNSET
        else:
            options_column = self.options_column

        answer: str | Unset = UNSET
        if not isinstance(self.answer, Unset):
            answer = self.answer.value

        first_index = self.first_index

        extract: str | Unset = UNSET
        if not isinstance(self.extract, Unset):
            extract = self.extract.value

        open_tag = self.open_tag

        close_tag = self.close_tag

        answer_column: None | str | Unset
        if isinstance(self.answer_column, Unset):
            answer_column = UNSET
        else:
            answer_column = self.answer_column

        time_limit_seconds = self.time_limit_seconds

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "type": type_,
        })
        if options is not UNSET:
            field_dict["options"] = options
        if options_column is not UNSET:
            field_dict["options_column"] = options_column
        if answer is not UNSET:
            field_dict["answer"] = answer
        if first_index is not UNSET:
            field_dict["first_index"] = first_index
        if extract is not UNSET:
            field_dict["extract"] = extract
        if open_tag is not UNSET:
            field_dict["open_tag"] = open_tag
        if close_tag is not UNSET:
            field_dict["close_tag"] = close_tag
        if answer_column is not UNSET:
            field_dict["answer_column"] = answer_column
        if time_limit_seconds is not UNSET:
            field_dict["time_limit_seconds"] = time_limit_seconds

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        type_ = cast(Literal['multiple_choice'] , d.pop("type"))
        if type_ != 'multiple_choice':
            raise ValueError(f"type must match const 'multiple_choice', got '{type_}'")

        options = d.pop("options", UNSET)

        def _parse_options_column(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        options_column = _parse_options_column(d.pop("options_column", UNSET))

        _answer = d.pop("answer", UNSET)
        answer: VerifierMultipleChoiceAnswer | Unset
        if isinstance(_answer,  Unset):
            answer = UNSET
        else:
            answer = VerifierMultipleChoiceAnswer(_answer)

        first_index = d.pop("first_index", UNSET)

        _extract = d.pop("extract", UNSET)
        extract: VerifierMultipleChoiceExtract | Unset
        if isinstance(_extract,  Unset):
            extract = UNSET
        else:
            extract = VerifierMultipleChoiceExtract(_extract)

        open_tag = d.pop("open_tag", UNSET)

        close_tag = d.pop("close_tag", UNSET)

        def _parse_answer_column(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        answer_column = _parse_answer_column(d.pop("answer_column", UNSET))

        time_limit_seconds = d.pop("time_limit_seconds", UNSET)

        verifier_multiple_choice = cls(
            type_=type_,
            options=options,
            options_column=options_column,
            answer=answer,
            first_index=first_index,
            extract=extract,
            open_tag=open_tag,
            close_tag=close_tag,
            answer_column=answer_column,
            time_limit_seconds=time_limit_seconds,
        )

        return verifier_multiple_choice
