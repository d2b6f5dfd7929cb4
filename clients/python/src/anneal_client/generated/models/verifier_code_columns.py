from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast

T = TypeVar("T", bound="VerifierCodeColumns")

@_attrs_define
class VerifierCodeColumns:
    """ Columns under other names than the format has them.

        Attributes:
            tests (None | str | Unset): The tests, whatever the format calls them.
            setup (None | str | Unset): What comes before the tests.
            entry_point (None | str | Unset): The name that the tests call.
            prompt (None | str | Unset): The beginning of the program, which a completion may go on.
            stdin (None | str | Unset): Inputs of the program.
            stdout (None | str | Unset): Outputs that they are to give.
     """

    tests: None | str | Unset = UNSET
    setup: None | str | Unset = UNSET
    entry_point: None | str | Unset = UNSET
    prompt: None | str | Unset = UNSET
    stdin: None | str | Unset = UNSET
    stdout: None | str | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        tests: None | str | Unset
        if isinstance(self.tests, Unset):
            tests = UNSET
        else:
            tests = self.tests

        setup: None | str | Unset
        if isinstance(self.setup, Unset):
            setup = UNSET
        else:
            setup = self.setup

        entry_point: None | str | Unset
        if isinstance(self.entry_point, Unset):
            entry_point = UNSET
        else:
            entry_point = self.entry_point

        prompt: None | str | Unset
        if isinstance(self.prompt, Unset):
            prompt = UNSET
        else:
            prompt = self.prompt

        stdin: None | str | Unset
        if isinstance(self.stdin, Unset):
            stdin = UNSET
        else:
            stdin = self.stdin

        stdout: None | str | Unset
        if isinstance(self.stdout, Unset):
            stdout = UNSET
        else:
            stdout = self.stdout

        field_dict: dict[str, Any] = {}

        field_dict.update({
        })
        if tests is not UNSET:
            field_dict["tests"] = tests
        if setup is not UNSET:
            field_dict["setup"] = setup
        if entry_point is not UNSET:
            field_dict["entry_point"] = entry_point
        if prompt is not UNSET:
            field_dict["prompt"] = prompt
        if stdin is not UNSET:
            field_dict["stdin"] = stdin
        if stdout is not UNSET:
            field_dict["stdout"] = stdout

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        def _parse_tests(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        tests = _parse_tests(d.pop("tests", UNSET))

        def _parse_setup(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        setup = _parse_setup(d.pop("setup", UNSET))

        def _parse_entry_point(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        entry_point = _parse_entry_point(d.pop("entry_point", UNSET))

        def _parse_prompt(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        prompt = _parse_prompt(d.pop("prompt", UNSET))

        def _parse_stdin(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        stdin = _parse_stdin(d.pop("stdin", UNSET))

        def _parse_stdout(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        stdout = _parse_stdout(d.pop("stdout", UNSET))

        verifier_code_columns = cls(
            tests=tests,
            setup=setup,
            entry_point=entry_point,
            prompt=prompt,
            stdin=stdin,
            stdout=stdout,
        )

        return verifier_code_columns
