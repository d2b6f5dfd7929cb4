from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..models.verifier_model_mode import VerifierModelMode
from ..types import UNSET, Unset
from typing import cast
from typing import Literal, cast

T = TypeVar("T", bound="VerifierModel")

@_attrs_define
class VerifierModel:
    """ A language model judges by a rubric: a score in a range, or how probable its yes is.

        Attributes:
            type_ (Literal['model']):
            endpoint (str): The endpoint with its model, by its name in the operator's settings.
            rubric (str): What the judge is asked, with places such as `{{ sample.output_text }}` and `{{ item.answer }}`.
                How to answer is
                added to it.
            system (None | str | Unset): What the judge is told before it, as the system's message.
            mode (VerifierModelMode | Unset): What the reward is.

                - `score`: The number that the judge writes, as its place in the range.
                - `yes_logprob`: How probable the judge's yes is beside its no, from the log-probabilities of its first token.
            score_range (list[float] | Unset): The scores that can be given, from the lowest to the highest; rewards are
                their places in it, from 0 to 1.
            least_mass (float | Unset): With `yes_logprob`: how probable yes and no must be together, so that the answer is
                one of them at all. Default: 0.5.
            max_tokens (int | Unset): With `score`: the longest answer in tokens. Default: 512.
            temperature (float | Unset): With `score`: the temperature of the judge. Default: 0.0.
            retries (int | Unset): How often a request is made again that failed, and how often a judge is asked again whose
                answer is no score. Default: 2.
            concurrency (int | Unset): Most requests at a time; the operator's limit for the endpoint holds as well.
                Default: 4.
            request_seconds (float | Unset): Seconds one request may take. Default: 60.0.
            time_limit_seconds (float | Unset): Seconds one verification may take. Default: 180.0.
     """

    type_: Literal['model']
    endpoint: str
    rubric: str
    system: None | str | Unset = UNSET
    mode: VerifierModelMode | Unset = UNSET
    score_range: list[float] | Unset = UNSET
    least_mass: float | Unset = 0.5
    max_tokens: int | Unset = 512
    temperature: float | Unset = 0.0
    retries: int | Unset = 2
    concurrency: int | Unset = 4
    request_seconds: float | Unset = 60.0
    time_limit_seconds: float | Unset = 180.0

    def to_dict(self) -> dict[str, Any]:
        type_ = self.type_

        endpoint = self.endpoint

        rubric = self.rubric

        system: None | str | Unset
        if isinstance(self.system, Unset):
            system = UNSET
        else:
            system = self.system

        mode: str | Unset = UNSET
        if not isinstance(self.mode, Unset):
            mode = self.mode.value

        score_range: list[float] | Unset = UNSET
        if not isinstance(self.score_range, Unset):
            score_range = self.score_range

        least_mass = self.least_mass

        max_tokens = self.max_tokens

        temperature = self.temperature

        retries = self.retries

        concurrency = self.concurrency

        request_seconds = self.request_seconds

        time_limit_seconds = self.time_limit_seconds

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "type": type_,
            "endpoint": endpoint,
            "rubric": rubric,
        })
        if system is not UNSET:
            field_dict["system"] = system
        if mode is not UNSET:
            field_dict["mode"] = mode
        if score_range is not UNSET:
            field_dict["score_range"] = score_range
        if least_mass is not UNSET:
            field_dict["least_mass"] = least_mass
        if max_tokens is not UNSET:
            field_dict["max_tokens"] = max_tokens
        if temperature is not UNSET:
            field_dict["temperature"] = temperature
        if retries is not UNSET:
            field_dict["retries"] = retries
        if concurrency is not UNSET:
            field_dict["concurrency"] = concurrency
        if request_seconds is not UNSET:
            field_dict["request_seconds"] = request_seconds
        if time_limit_seconds is not UNSET:
            field_dict["time_limit_seconds"] = time_limit_seconds

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        type_ = cast(Literal['model'] , d.pop("type"))
        if type_ != 'model':
            raise ValueError(f"type must match const 'model', got '{type_}'")

        endpoint = d.pop("endpoint")

        rubric = d.pop("rubric")

        def _parse_system(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        system = _parse_system(d.pop("system", UNSET))

        _mode = d.pop("mode", UNSET)
        mode: VerifierModelMode | Unset
        if isinstance(_mode,  Unset):
            mode = UNSET
        else:
            mode = VerifierModelMode(_mode)

        score_range = cast(list[float], d.pop("score_range", UNSET))

        least_mass = d.pop("least_mass", UNSET)

        max_tokens = d.pop("max_tokens", UNSET)

        temperature = d.pop("temperature", UNSET)

        retries = d.pop("retries", UNSET)

        concurrency = d.pop("concurrency", UNSET)

        request_seconds = d.pop("request_seconds", UNSET)

        time_limit_seconds = d.pop("time_limit_seconds", UNSET)

        verifier_model = cls(
            type_=type_,
            endpoint=endpoint,
            rubric=rubric,
            system=system,
            mode=mode,
            score_range=score_range,
            least_mass=least_mass,
            max_tokens=max_tokens,
            temperature=temperature,
            retries=retries,
            concurrency=concurrency,
            request_seconds=request_seconds,
            time_limit_seconds=time_limit_seconds,
        )

        return verifier_model
