from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..models.verifier_json_extract import VerifierJsonExtract
from ..types import UNSET, Unset
from typing import cast
from typing import Literal, cast

T = TypeVar("T", bound="VerifierJson")

@_attrs_define
class VerifierJson:
    """ The JSON value that a completion ends on equals the expected one, wholly or member by member.

        Attributes:
            type_ (Literal['json']):
            extract (VerifierJsonExtract | Unset): - `last`: The last complete object or list; what stands around it, such
                as a code fence, is passed over. Where no list is expected, an object counts before a list of texts and numbers
                that follows it.
                - `all`: The whole completion, which must be JSON and nothing else.
            ignore_extra (bool | Unset): Members that are not expected, at any depth, make no difference. Default: False.
            partial (bool | Unset): An object earns the share of its members that are right, instead of 1 for all of them
                and 0 otherwise. Unexpected
                members count as wrong ones unless `ignore_extra` is set. Default: False.
            answer_column (None | str | Unset): The column of the expected value, as JSON or as a text that holds JSON; by
                default the data set's answer column.
            time_limit_seconds (float | Unset): Seconds one verification may take. Default: 10.0.
     """

    type_: Literal['json']
    extract: VerifierJsonExtract | Unset = UNSET
    ignore_extra: bool | Unset = False
    partial: bool | Unset = False
    answer_column: None | str | Unset = UNSET
    time_limit_seconds: float | Unset = 10.0

    def to_dict(self) -> dict[str, Any]:
        type_ = self.type_

        extract: str | Unset = UNSET
        if not isinstance(self.extract, Unset):
            extract = self.extract.value

        ignore_extra = self.ignore_extra

        partial = self.partial

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
        if ignore_extra is not UNSET:
            field_dict["ignore_extra"] = ignore_extra
        if partial is not UNSET:
            field_dict["partial"] = partial
        if answer_column is not UNSET:
            field_dict["answer_column"] = answer_column
        if time_limit_seconds is not UNSET:
            field_dict["time_limit_seconds"] = time_limit_seconds

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        type_ = cast(Literal['json'] , d.pop("type"))
        if type_ != 'json':
            raise ValueError(f"type must match const 'json', got '{type_}'")

        _extract = d.pop("extract", UNSET)
        extract: VerifierJsonExtract | Unset
        if isinstance(_extract,  Unset):
            extract = UNSET
        else:
            extract = VerifierJsonExtract(_extract)

        ignore_extra = d.pop("ignore_extra", UNSET)

        partial = d.pop("partial", UNSET)

        def _parse_answer_column(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        answer_column = _parse_answer_column(d.pop("answer_column", UNSET))

        time_limit_seconds = d.pop("time_limit_seconds", UNSET)

        verifier_json = cls(
            type_=type_,
            extract=extract,
            ignore_extra=ignore_extra,
            partial=partial,
            answer_column=answer_column,
            time_limit_seconds=time_limit_seconds,
        )

        return verifier_json
