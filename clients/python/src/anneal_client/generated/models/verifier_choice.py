from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..models.verifier_choice_extract import VerifierChoiceExtract
from ..models.verifier_choice_several import VerifierChoiceSeveral
from ..types import UNSET, Unset
from typing import cast
from typing import Literal, cast

T = TypeVar("T", bound="VerifierChoice")

@_attrs_define
class VerifierChoice:
    """ The one label out of a list that the completion names is the expected one.

        Attributes:
            type_ (Literal['choice']):
            labels (list[str]): The labels that there are.
            extract (VerifierChoiceExtract | Unset): - `anywhere`: Anywhere in the completion.
                - `last_line`: In the last line that is not empty.
                - `tag`: Between the last pair of tags.
                - `boxed`: In the last `\\boxed{}`.
                - `all`: The completion is a label and nothing else, but for white space and punctuation around it.
            open_tag (str | Unset): Begins the part that is looked at when `extract` is `tag`. Default: '<answer>'.
            close_tag (str | Unset): Ends the part that is looked at when `extract` is `tag`. Default: '</answer>'.
            several (VerifierChoiceSeveral | Unset): - `refuse`: None: the completion has not decided.
            ignore_case (bool | Unset): Upper and lower case are the same. Default: True.
            ordered (bool | Unset): The labels stand in their order, such as marks: a wrong one earns the more the nearer it
                is, the one at the other
                end nothing. Default: False.
            answer_column (None | str | Unset): The column of the expected label; by default the data set's answer column.
            time_limit_seconds (float | Unset): Seconds one verification may take. Default: 10.0.
     """

    type_: Literal['choice']
    labels: list[str]
    extract: VerifierChoiceExtract | Unset = UNSET
    open_tag: str | Unset = '<answer>'
    close_tag: str | Unset = '</answer>'
    several: VerifierChoiceSeveral | Unset = UNSET
    ignore_case: bool | Unset = True
    ordered: bool | Unset = False
    answer_column: None | str | Unset = UNSET
    time_limit_seconds: float | Unset = 10.0

    def to_dict(self) -> dict[str, Any]:
        type_ = self.type_

        labels = self.labels

        extract: str | Unset = UNSET
        if not isinstance(self.extract, Unset):
            extract = self.extract.value

        open_tag = self.open_tag

        close_tag = self.close_tag

        several: str | Unset = UNSET
        if not isinstance(self.several, Unset):
            several = self.several.value

        ignore_case = self.ignore_case

        ordered = self.ordered

        answer_column: None | str | Unset
        if isinstance(self.answer_column, Unset):
            answer_column = UNSET
        else:
            answer_column = self.answer_column

        time_limit_seconds = self.time_limit_seconds

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "type": type_,
            "labels": labels,
        })
        if extract is not UNSET:
            field_dict["extract"] = extract
        if open_tag is not UNSET:
            field_dict["open_tag"] = open_tag
        if close_tag is not UNSET:
            field_dict["close_tag"] = close_tag
        if several is not UNSET:
            field_dict["several"] = several
        if ignore_case is not UNSET:
            field_dict["ignore_case"] = ignore_case
        if ordered is not UNSET:
            field_dict["ordered"] = ordered
        if answer_column is not UNSET:
            field_dict["answer_column"] = answer_column
        if time_limit_seconds is not UNSET:
            field_dict["time_limit_seconds"] = time_limit_seconds

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        type_ = cast(Literal['choice'] , d.pop("type"))
        if type_ != 'choice':
            raise ValueError(f"type must match const 'choice', got '{type_}'")

        labels = cast(list[str], d.pop("labels"))

        _extract = d.pop("extract", UNSET)
        extract: VerifierChoiceExtract | Unset
        if isinstance(_extract,  Unset):
            extract = UNSET
        else:
            extract = VerifierChoiceExtract(_extract)

        open_tag = d.pop("open_tag", UNSET)

        close_tag = d.pop("close_tag", UNSET)

        _several = d.pop("several", UNSET)
        several: VerifierChoiceSeveral | Unset
        if isinstance(_several,  Unset):
            several = UNSET
        else:
            several = VerifierChoiceSeveral(_several)

        ignore_case = d.pop("ignore_case", UNSET)

        ordered = d.pop("ordered", UNSET)

        def _parse_answer_column(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        answer_column = _parse_answer_column(d.pop("answer_column", UNSET))

        time_limit_seconds = d.pop("time_limit_seconds", UNSET)

        verifier_choice = cls(
            type_=type_,
            labels=labels,
            extract=extract,
            open_tag=open_tag,
            close_tag=close_tag,
            several=several,
            ignore_case=ignore_case,
            ordered=ordered,
            answer_column=answer_column,
            time_limit_seconds=time_limit_seconds,
        )

        return verifier_choice
