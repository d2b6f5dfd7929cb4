from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..models.verifier_exact_extract import VerifierExactExtract
from ..types import UNSET, Unset
from typing import cast
from typing import Literal, cast

T = TypeVar("T", bound="VerifierExact")

@_attrs_define
class VerifierExact:
    """ The completion, or its part between two tags, equals the expected answer.

        Attributes:
            type_ (Literal['exact']):
            extract (VerifierExactExtract | Unset): - `all`: The whole completion.
                - `tag`: Between the last pair of tags.
            open_tag (str | Unset): Begins the compared part when `extract` is `tag`. Default: '<answer>'.
            close_tag (str | Unset): Ends the compared part when `extract` is `tag`. Default: '</answer>'.
            ignore_case (bool | Unset): Upper and lower case are the same. Default: False.
            ignore_whitespace (bool | Unset): A run of white space is the same as one space; white space at the ends never
                counts. Default: False.
            ignore_punctuation (bool | Unset): Punctuation (the Unicode category P, to which the hyphen-minus belongs) is
                left out. Default: False.
            answer_column (None | str | Unset): The column of the expected answer; by default the data set's answer column.
            time_limit_seconds (float | Unset): Seconds one verification may take. Default: 10.0.
     """

    type_: Literal['exact']
    extract: VerifierExactExtract | Unset = UNSET
    open_tag: str | Unset = '<answer>'
    close_tag: str | Unset = '</answer>'
    ignore_case: bool | Unset = False
    ignore_whitespace: bool | Unset = False
    ignore_punctuation: bool | Unset = False
    answer_column: None | str | Unset = UNSET
    time_limit_seconds: float | Unset = 10.0

    def to_dict(self) -> dict[str, Any]:
        type_ = self.type_

        extract: str | Unset = UNSET
        if not isinstance(self.extract, Unset):
            extract = self.extract.value

        open_tag = self.open_tag

        close_tag = self.close_tag

        ignore_case = self.ignore_case

        ignore_whitespace = self.ignore_whitespace

        ignore_punctuation = self.ignore_punctuation

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
        if extract is not UNSET:
            field_dict["extract"] = extract
        if open_tag is not UNSET:
            field_dict["open_tag"] = open_tag
        if close_tag is not UNSET:
            field_dict["close_tag"] = close_tag
        if ignore_case is not UNSET:
            field_dict["ignore_case"] = ignore_case
        if ignore_whitespace is not UNSET:
            field_dict["ignore_whitespace"] = ignore_whitespace
        if ignore_punctuation is not UNSET:
            field_dict["ignore_punctuation"] = ignore_punctuation
        if answer_column is not UNSET:
            field_dict["answer_column"] = answer_column
        if time_limit_seconds is not UNSET:
            field_dict["time_limit_seconds"] = time_limit_seconds

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        type_ = cast(Literal['exact'] , d.pop("type"))
        if type_ != 'exact':
            raise ValueError(f"type must match const 'exact', got '{type_}'")

        _extract = d.pop("extract", UNSET)
        extract: VerifierExactExtract | Unset
        if isinstance(_extract,  Unset):
            extract = UNSET
        else:
            extract = VerifierExactExtract(_extract)

        open_tag = d.pop("open_tag", UNSET)

        close_tag = d.pop("close_tag", UNSET)

        ignore_case = d.pop("ignore_case", UNSET)

        ignore_whitespace = d.pop("ignore_whitespace", UNSET)

        ignore_punctuation = d.pop("ignore_punctuation", UNSET)

        def _parse_answer_column(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        answer_column = _parse_answer_column(d.pop("answer_column", UNSET))

        time_limit_seconds = d.pop("time_limit_seconds", UNSET)

        verifier_exact = cls(
            type_=type_,
            extract=extract,
            open_tag=open_tag,
            close_tag=close_tag,
            ignore_case=ignore_case,
            ignore_whitespace=ignore_whitespace,
            ignore_punctuation=ignore_punctuation,
            answer_column=answer_column,
            time_limit_seconds=time_limit_seconds,
        )

        return verifier_exact
