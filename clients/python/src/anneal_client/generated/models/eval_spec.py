from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast

T = TypeVar("T", bound="EvalSpec")

@_attrs_define
class EvalSpec:
    """ How held-out accuracy is measured.

        Attributes:
            every_steps (int | Unset): Evaluate every so many optimizer steps besides the end; 0 only at the end. Default:
                0.
            samples (int | Unset): Completions per prompt. Default: 8.
            pass_at (list[int] | Unset): The k of pass@k; none may exceed `samples`.
            before (bool | Unset): Also evaluate before the first step. Default: True.
            temperature (float | None | Unset): Temperature of evaluation; that of `sampling` when absent.
            prompts (int | Unset): Held-out prompts to use, from the first on. Default: 200.
            suite (None | str | Unset): A suite (`suite_...` or its name) on which the server evaluates the finished model
                when the job has succeeded: an
                evaluation of its own for each set. `GET /v1/suites/{id}/runs?job=JOB` has what they find.
     """

    every_steps: int | Unset = 0
    samples: int | Unset = 8
    pass_at: list[int] | Unset = UNSET
    before: bool | Unset = True
    temperature: float | None | Unset = UNSET
    prompts: int | Unset = 200
    suite: None | str | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        every_steps = self.every_steps

        samples = self.samples

        pass_at: list[int] | Unset = UNSET
        if not isinstance(self.pass_at, Unset):
            pass_at = self.pass_at

        before = self.before

        temperature: float | None | Unset
        if isinstance(self.temperature, Unset):
            temperature = UNSET
        else:
            temperature = self.temperature

        prompts = self.prompts

        suite: None | str | Unset
        if isinstance(self.suite, Unset):
            suite = UNSET
        else:
            suite = self.suite

        field_dict: dict[str, Any] = {}

        field_dict.update({
        })
        if every_steps is not UNSET:
            field_dict["every_steps"] = every_steps
        if samples is not UNSET:
            field_dict["samples"] = samples
        if pass_at is not UNSET:
            field_dict["pass_at"] = pass_at
        if before is not UNSET:
            field_dict["before"] = before
        if temperature is not UNSET:
            field_dict["temperature"] = temperature
        if prompts is not UNSET:
            field_dict["prompts"] = prompts
        if suite is not UNSET:
            field_dict["suite"] = suite

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        every_steps = d.pop("every_steps", UNSET)

        samples = d.pop("samples", UNSET)

        pass_at = cast(list[int], d.pop("pass_at", UNSET))

        before = d.pop("before", UNSET)

        def _parse_temperature(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        temperature = _parse_temperature(d.pop("temperature", UNSET))

        prompts = d.pop("prompts", UNSET)

        def _parse_suite(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        suite = _parse_suite(d.pop("suite", UNSET))

        eval_spec = cls(
            every_steps=every_steps,
            samples=samples,
            pass_at=pass_at,
            before=before,
            temperature=temperature,
            prompts=prompts,
            suite=suite,
        )

        return eval_spec
