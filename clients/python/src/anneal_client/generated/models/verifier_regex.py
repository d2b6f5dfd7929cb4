from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..models.verifier_regex_must import VerifierRegexMust
from ..types import UNSET, Unset
from typing import cast
from typing import Literal, cast

T = TypeVar("T", bound="VerifierRegex")

@_attrs_define
class VerifierRegex:
    """ The completion matches a pattern, or a captured group equals the expected answer.

        Attributes:
            type_ (Literal['regex']):
            pattern (str): The pattern, in the syntax of the Rust crate `regex`. White space around the completion is not
                looked at.
            must (VerifierRegexMust | Unset): - `match`: The pattern matches somewhere.
                - `full_match`: The pattern matches from the beginning to the end.
            ignore_case (bool | Unset): Upper and lower case are the same, in the pattern and in the comparison of a group.
                Default: False.
            group (int | None | str | Unset): A group of the pattern, by number or name: what it captured in the first match
                must be the expected answer.
            answer_column (None | str | Unset): The column of the expected answer, with `group` only; by default the data
                set's answer column.
            time_limit_seconds (float | Unset): Seconds one verification may take. Default: 10.0.
     """

    type_: Literal['regex']
    pattern: str
    must: VerifierRegexMust | Unset = UNSET
    ignore_case: bool | Unset = False
    group: int | None | str | Unset = UNSET
    answer_column: None | str | Unset = UNSET
    time_limit_seconds: float | Unset = 10.0

    def to_dict(self) -> dict[str, Any]:
        type_ = self.type_

        pattern = self.pattern

        must: str | Unset = UNSET
        if not isinstance(self.must, Unset):
            must = self.must.value

        ignore_case = self.ignore_case

        group: int | None | str | Unset
        if isinstance(self.group, Unset):
            group = UNSET
        else:
            group = self.group

        answer_column: None | str | Unset
        if isinstance(self.answer_column, Unset):
            answer_column = UNSET
        else:
            answer_column = self.answer_column

        time_limit_seconds = self.time_limit_seconds

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "type": type_,
            "pattern": pattern,
        })
        if must is not UNSET:
            field_dict["must"] = must
        if ignore_case is not UNSET:
            field_dict["ignore_case"] = ignore_case
        if group is not UNSET:
            field_dict["group"] = group
        if answer_column is not UNSET:
            field_dict["answer_column"] = answer_column
        if time_limit_seconds is not UNSET:
            field_dict["time_limit_seconds"] = time_limit_seconds

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        type_ = cast(Literal['regex'] , d.pop("type"))
        if type_ != 'regex':
            raise ValueError(f"type must match const 'regex', got '{type_}'")

        pattern = d.pop("pattern")

        _must = d.pop("must", UNSET)
        must: VerifierRegexMust | Unset
        if isinstance(_must,  Unset):
            must = UNSET
        else:
            must = VerifierRegexMust(_must)

        ignore_case = d.pop("ignore_case", UNSET)

        def _parse_group(data: object) -> int | None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | str | Unset, data)

        group = _parse_group(d.pop("group", UNSET))

        def _parse_answer_column(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        answer_column = _parse_answer_column(d.pop("answer_column", UNSET))

        time_limit_seconds = d.pop("time_limit_seconds", UNSET)

        verifier_regex = cls(
            type_=type_,
            pattern=pattern,
            must=must,
            ignore_case=ignore_case,
            group=group,
            answer_column=answer_column,
            time_limit_seconds=time_limit_seconds,
        )

        return verifier_regex
