from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..models.verifier_code_format import VerifierCodeFormat
from ..models.verifier_code_reward import VerifierCodeReward
from ..types import UNSET, Unset
from typing import cast
from typing import Literal, cast

if TYPE_CHECKING:
  from ..models.verifier_code_columns import VerifierCodeColumns

T = TypeVar("T", bound="VerifierCode")

@_attrs_define
class VerifierCode:
    """ The completion is a program that passes the row's tests, run in a sandbox.

        Attributes:
            type_ (Literal['code']):
            language (str | Unset): The language of programs: `python`, or one that the server's operator lists. Default:
                'python'.
            format_ (VerifierCodeFormat | Unset): How rows say what is tested.

                - `auto`: By the columns that a row has.
                - `tests`: `tests` in Python, with `setup` and `entry_point`.
                - `stdio`: `stdin` and the `stdout` that it is to give.
                - `humaneval`: HumanEval: `prompt`, `test`, `entry_point`.
                - `evalplus`: HumanEval+ and MBPP+ as EvalPlus has them.
                - `mbpp`: MBPP: `test_list`, with what comes before it.
                - `livecodebench`: LiveCodeBench: `public_test_cases` and `private_test_cases`.
                - `apps`: APPS: `input_output`.
            columns (VerifierCodeColumns | Unset): Columns under other names than the format has them.
            reward (VerifierCodeReward | Unset): What of the tests counts.

                - `all`: 1 if all pass and 0 otherwise; the first that fails is the last that runs.
                - `fraction`: The share of those that pass.
            test_seconds (float | Unset): Seconds of wall-clock time that one test may take. Default: 5.0.
            most_tests (int | Unset): The most tests of a row that are run; the first ones. Default: 100.
            float_tolerance (float | Unset): How far numbers with a fraction may lie from expected ones, absolutely or
                relative to them. Default: 1e-06.
            time_limit_seconds (float | Unset): Seconds one verification may take; three quarters of it are for the
                programs. Default: 30.0.
     """

    type_: Literal['code']
    language: str | Unset = 'python'
    format_: VerifierCodeFormat | Unset = UNSET
    columns: VerifierCodeColumns | Unset = UNSET
    reward: VerifierCodeReward | Unset = UNSET
    test_seconds: float | Unset = 5.0
    most_tests: int | Unset = 100
    float_tolerance: float | Unset = 1e-06
    time_limit_seconds: float | Unset = 30.0

    def to_dict(self) -> dict[str, Any]:
        from ..models.verifier_code_columns import VerifierCodeColumns # noqa: PLC0415
        type_ = self.type_

        language = self.language

        format_: str | Unset = UNSET
        if not isinstance(self.format_, Unset):
            format_ = self.format_.value

        columns: dict[str, Any] | Unset = UNSET
        if not isinstance(self.columns, Unset):
            columns = self.columns.to_dict()

        reward: str | Unset = UNSET
        if not isinstance(self.reward, Unset):
            reward = self.reward.value

        test_seconds = self.test_seconds

        most_tests = self.most_tests

        float_tolerance = self.float_tolerance

        time_limit_seconds = self.time_limit_seconds

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "type": type_,
        })
        if language is not UNSET:
            field_dict["language"] = language
        if format_ is not UNSET:
            field_dict["format"] = format_
        if columns is not UNSET:
            field_dict["columns"] = columns
        if reward is not UNSET:
            field_dict["reward"] = reward
        if test_seconds is not UNSET:
            field_dict["test_seconds"] = test_seconds
        if most_tests is not UNSET:
            field_dict["most_tests"] = most_tests
        if float_tolerance is not UNSET:
            field_dict["float_tolerance"] = float_tolerance
        if time_limit_seconds is not UNSET:
            field_dict["time_limit_seconds"] = time_limit_seconds

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.verifier_code_columns import VerifierCodeColumns # noqa: PLC0415
        d = dict(src_dict)
        type_ = cast(Literal['code'] , d.pop("type"))
        if type_ != 'code':
            raise ValueError(f"type must match const 'code', got '{type_}'")

        language = d.pop("language", UNSET)

        _format_ = d.pop("format", UNSET)
        format_: VerifierCodeFormat | Unset
        if isinstance(_format_,  Unset):
            format_ = UNSET
        else:
            format_ = VerifierCodeFormat(_format_)

        _columns = d.pop("columns", UNSET)
        columns: VerifierCodeColumns | Unset
        if isinstance(_columns,  Unset):
            columns = UNSET
        else:
            columns = VerifierCodeColumns.from_dict(_columns)

        _reward = d.pop("reward", UNSET)
        reward: VerifierCodeReward | Unset
        if isinstance(_reward,  Unset):
            reward = UNSET
        else:
            reward = VerifierCodeReward(_reward)

        test_seconds = d.pop("test_seconds", UNSET)

        most_tests = d.pop("most_tests", UNSET)

        float_tolerance = d.pop("float_tolerance", UNSET)

        time_limit_seconds = d.pop("time_limit_seconds", UNSET)

        verifier_code = cls(
            type_=type_,
            language=language,
            format_=format_,
            columns=columns,
            reward=reward,
            test_seconds=test_seconds,
            most_tests=most_tests,
            float_tolerance=float_tolerance,
            time_limit_seconds=time_limit_seconds,
        )

        return verifier_code
