from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..models.verifier_math_place import VerifierMathPlace
from ..models.verifier_math_writing import VerifierMathWriting
from ..types import UNSET, Unset
from typing import cast
from typing import Literal, cast

T = TypeVar("T", bound="VerifierMath")

@_attrs_define
class VerifierMath:
    """ The mathematical answer a completion ends on, in LaTeX or plain text, equals the expected one.

        Attributes:
            type_ (Literal['math']):
            extract (list[VerifierMathPlace] | Unset): Where the answer is looked for, in this order; the first place that
                holds one that can be read is taken.
            read (list[VerifierMathWriting] | Unset): What is read as an answer.
            marker (str | Unset): Stands before the answer where `extract` holds `marker`. Default: '####'.
            answer_column (None | str | Unset): The column of the expected answer; by default the data set's answer column.
            precision (int | Unset): Decimals, and below 1 significant digits, to which numbers with a decimal point are
                compared. Default: 6.
            strict (bool | Unset): Whether the names of variables matter, and the order of tuples. Default: True.
            allow_set_relation_comp (bool | Unset): Whether an inequality such as `1 < x < 2` may be given where an interval
                is expected. The other way round it may
                always be. Default: False.
            partial (bool | Unset): Whether some of several expected answers earn their share of the reward, with one answer
                too many counted
                against it. Default: False.
            correct_reward (float | Unset): The reward of the expected answer. Default: 1.0.
            wrong_reward (float | Unset): The reward of another answer. A completion without one is unparsable and earns 0,
                or this where it is less. Default: 0.0.
            time_limit_seconds (float | Unset): Seconds one verification may take. Default: 10.0.
     """

    type_: Literal['math']
    extract: list[VerifierMathPlace] | Unset = UNSET
    read: list[VerifierMathWriting] | Unset = UNSET
    marker: str | Unset = '####'
    answer_column: None | str | Unset = UNSET
    precision: int | Unset = 6
    strict: bool | Unset = True
    allow_set_relation_comp: bool | Unset = False
    partial: bool | Unset = False
    correct_reward: float | Unset = 1.0
    wrong_reward: float | Unset = 0.0
    time_limit_seconds: float | Unset = 10.0

    def to_dict(self) -> dict[str, Any]:
        type_ = self.type_

        extract: list[str] | Unset = UNSET
        if not isinstance(self.extract, Unset):
            extract = []
            for extract_item_data in self.extract:
                extract_item = extract_item_data.value
                extract.append(extract_item)

        read: list[str] | Unset = UNSET
        if not isinstance(self.read, Unset):
            read = []
            for read_item_data in self.read:
                read_item = read_item_data.value
                read.append(read_item)

        marker = self.marker

        answer_column: None | str | Unset
        if isinstance(self.answer_column, Unset):
            answer_column = UNSET
        else:
            answer_column = self.answer_column

        precision = self.precision

        strict = self.strict

        allow_set_relation_comp = self.allow_set_relation_comp

        partial = self.partial

        correct_reward = self.correct_reward

        wrong_reward = self.wrong_reward

        time_limit_seconds = self.time_limit_seconds

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "type": type_,
        })
        if extract is not UNSET:
            field_dict["extract"] = extract
        if read is not UNSET:
            field_dict["read"] = read
        if marker is not UNSET:
            field_dict["marker"] = marker
        if answer_column is not UNSET:
            field_dict["answer_column"] = answer_column
        if precision is not UNSET:
            field_dict["precision"] = precision
        if strict is not UNSET:
            field_dict["strict"] = strict
        if allow_set_relation_comp is not UNSET:
            field_dict["allow_set_relation_comp"] = allow_set_relation_comp
        if partial is not UNSET:
            field_dict["partial"] = partial
        if correct_reward is not UNSET:
            field_dict["correct_reward"] = correct_reward
        if wrong_reward is not UNSET:
            field_dict["wrong_reward"] = wrong_reward
        if time_limit_seconds is not UNSET:
            field_dict["time_limit_seconds"] = time_limit_seconds

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        type_ = cast(Literal['math'] , d.pop("type"))
        if type_ != 'math':
            raise ValueError(f"type must match const 'math', got '{type_}'")

        _extract = d.pop("extract", UNSET)
        extract: list[VerifierMathPlace] | Unset = UNSET
        if _extract is not UNSET:
            extract = []
            for extract_item_data in _extract:
                extract_item = VerifierMathPlace(extract_item_data)

                extract.append(extract_item)

        _read = d.pop("read", UNSET)
        read: list[VerifierMathWriting] | Unset = UNSET
        if _read is not UNSET:
            read = []
            for read_item_data in _read:
                read_item = VerifierMathWriting(read_item_data)

                read.append(read_item)

        marker = d.pop("marker", UNSET)

        def _parse_answer_column(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        answer_column = _parse_answer_column(d.pop("answer_column", UNSET))

        precision = d.pop("precision", UNSET)

        strict = d.pop("strict", UNSET)

        allow_set_relation_comp = d.pop("allow_set_relation_comp", UNSET)

        partial = d.pop("partial", UNSET)

        correct_reward = d.pop("correct_reward", UNSET)

        wrong_reward = d.pop("wrong_reward", UNSET)

        time_limit_seconds = d.pop("time_limit_seconds", UNSET)

        verifier_math = cls(
            type_=type_,
            extract=extract,
            read=read,
            marker=marker,
            answer_column=answer_column,
            precision=precision,
            strict=strict,
            allow_set_relation_comp=allow_set_relation_comp,
            partial=partial,
            correct_reward=correct_reward,
            wrong_reward=wrong_reward,
            time_limit_seconds=time_limit_seconds,
        )

        return verifier_math
