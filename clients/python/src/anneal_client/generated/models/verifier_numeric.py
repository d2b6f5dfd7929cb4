from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..models.verifier_numeric_extract import VerifierNumericExtract
from ..models.verifier_numeric_percent import VerifierNumericPercent
from ..types import UNSET, Unset
from typing import cast
from typing import Literal, cast

T = TypeVar("T", bound="VerifierNumeric")

@_attrs_define
class VerifierNumeric:
    """ The number a completion ends on equals the expected number within a tolerance.

        Attributes:
            type_ (Literal['numeric']):
            extract (VerifierNumericExtract | Unset): - `last`: The last number of the completion.
                - `tag`: The last number between the last pair of tags.
                - `marker`: The first number after the last marker.
                - `boxed`: The last number in the last complete `\\boxed{...}`.
            open_tag (str | Unset): Begins the judged part when `extract` is `tag`. Default: '<answer>'.
            close_tag (str | Unset): Ends the judged part when `extract` is `tag`. Default: '</answer>'.
            marker (str | Unset): Stands before the judged number when `extract` is `marker`. Default: '####'.
            answer_marker (str | Unset): Where the expected answer contains this text, only what follows its last occurrence
                is read; may be empty. Default: '####'.
            answer_column (None | str | Unset): The column of the expected answer; by default the data set's answer column.
            tolerance (float | Unset): The largest absolute difference that still counts as equal. Default: 1e-06.
            relative_tolerance (float | Unset): The largest difference that still counts as equal, as a share of the
                expected number; the wider limit holds. Default: 0.0.
            percent (VerifierNumericPercent | Unset): - `ignore`: `50%` is 50.
                - `divide`: `50%` is 0.5.
            correct_reward (float | Unset): The reward of the expected number. Default: 1.0.
            wrong_reward (float | Unset): The reward of another number. A completion without one is unparsable and earns 0,
                or this where it is less. Default: 0.0.
            time_limit_seconds (float | Unset): Seconds one verification may take. Default: 10.0.
     """

    type_: Literal['numeric']
    extract: VerifierNumericExtract | Unset = UNSET
    open_tag: str | Unset = '<answer>'
    close_tag: str | Unset = '</answer>'
    marker: str | Unset = '####'
    answer_marker: str | Unset = '####'
    answer_column: None | str | Unset = UNSET
    tolerance: float | Unset = 1e-06
    relative_tolerance: float | Unset = 0.0
    percent: VerifierNumericPercent | Unset = UNSET
    correct_reward: float | Unset = 1.0
    wrong_reward: float | Unset = 0.0
    time_limit_seconds: float | Unset = 10.0

    def to_dict(self) -> dict[str, Any]:
        type_ = self.type_

        extract: str | Unset = UNSET
        if not isinstance(self.extract, Unset):
            extract = self.extract.value

        open_tag = self.open_tag

        close_tag = self.close_tag

        marker = self.marker

        answer_marker = self.answer_marker

        answer_column: None | str | Unset
        if isinstance(self.answer_column, Unset):
            answer_column = UNSET
        else:
            answer_column = self.answer_column

        tolerance = self.tolerance

        relative_tolerance = self.relative_tolerance

        percent: str | Unset = UNSET
        if not isinstance(self.percent, Unset):
            percent = self.percent.value

        correct_reward = self.correct_reward

        wrong_reward = self.wrong_reward

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
        if marker is not UNSET:
            field_dict["marker"] = marker
        if answer_marker is not UNSET:
            field_dict["answer_marker"] = answer_marker
        if answer_column is not UNSET:
            field_dict["answer_column"] = answer_column
        if tolerance is not UNSET:
            field_dict["tolerance"] = tolerance
        if relative_tolerance is not UNSET:
            field_dict["relative_tolerance"] = relative_tolerance
        if percent is not UNSET:
            field_dict["percent"] = percent
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
        type_ = cast(Literal['numeric'] , d.pop("type"))
        if type_ != 'numeric':
            raise ValueError(f"type must match const 'numeric', got '{type_}'")

        _extract = d.pop("extract", UNSET)
        extract: VerifierNumericExtract | Unset
        if isinstance(_extract,  Unset):
            extract = UNSET
        else:
            extract = VerifierNumericExtract(_extract)

        open_tag = d.pop("open_tag", UNSET)

        close_tag = d.pop("close_tag", UNSET)

        marker = d.pop("marker", UNSET)

        answer_marker = d.pop("answer_marker", UNSET)

        def _parse_answer_column(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        answer_column = _parse_answer_column(d.pop("answer_column", UNSET))

        tolerance = d.pop("tolerance", UNSET)

        relative_tolerance = d.pop("relative_tolerance", UNSET)

        _percent = d.pop("percent", UNSET)
        percent: VerifierNumericPercent | Unset
        if isinstance(_percent,  Unset):
            percent = UNSET
        else:
            percent = VerifierNumericPercent(_percent)

        correct_reward = d.pop("correct_reward", UNSET)

        wrong_reward = d.pop("wrong_reward", UNSET)

        time_limit_seconds = d.pop("time_limit_seconds", UNSET)

        verifier_numeric = cls(
            type_=type_,
            extract=extract,
            open_tag=open_tag,
            close_tag=close_tag,
            marker=marker,
            answer_marker=answer_marker,
            answer_column=answer_column,
            tolerance=tolerance,
            relative_tolerance=relative_tolerance,
            percent=percent,
            correct_reward=correct_reward,
            wrong_reward=wrong_reward,
            time_limit_seconds=time_limit_seconds,
        )

        return verifier_numeric
