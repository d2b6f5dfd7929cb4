from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..models.answerer import Answerer
from ..models.environment_kind import EnvironmentKind
from ..models.judged import Judged
from ..types import UNSET, Unset
from typing import cast

if TYPE_CHECKING:
  from ..models.json_object import JsonObject

T = TypeVar("T", bound="EnvironmentSpec")

@_attrs_define
class EnvironmentSpec:
    """ What answers the model when a turn of it ends, so that completions have several turns: at an end-of-sequence token
    or at
    one of `sampling.stop`. What it writes stands in the completion, counts in `sampling.max_new_tokens` and is read by
    the
    model, and is not trained on.

        Attributes:
            type_ (EnvironmentKind): What an environment is.

                - `calculator`: Writes the value of the expression in the last call of a turn behind it.
                - `retry`: Has the verifier judge each turn, and asks for another where it does not pass.
                - `http`: Asks a service over HTTP.
            turns (int | Unset): Most turns of the model. A row may say fewer in a column `turns`. Default: 4.
            judge (Judged | Unset): What of a completion of several turns is judged.

                - `last_turn`: What the model wrote last.
                - `conversation`: All turns with the answers between them.
            role (Answerer | Unset): The role of a message that answers.
            call (list[str] | None | Unset): `calculator`: what stands before and behind an expression. The latter ends a
                turn. By default `<calculator>` and
                `</calculator>`.
            result (list[str] | None | Unset): `calculator`: what is written before and behind a result. By default
                `<result>` and `</result>`.
            retry (None | str | Unset): `retry`: what is said of an answer that the verifier does not pass; `{detail}`
                stands for its reason, which may give
                the right answer away. By default `That is not right. Try again.`
            service (None | str | Unset): `http`: a service that the operator has named in `[verifiers.services]`; either
                this or `url`.
            url (None | str | Unset): `http`: a public address that begins with `https://`.
            parameters (JsonObject | Unset): Any JSON object.
            time_limit_seconds (float | Unset): `http`: seconds until an answer must have come, over all tries. Default:
                30.0.
     """

    type_: EnvironmentKind
    turns: int | Unset = 4
    judge: Judged | Unset = UNSET
    role: Answerer | Unset = UNSET
    call: list[str] | None | Unset = UNSET
    result: list[str] | None | Unset = UNSET
    retry: None | str | Unset = UNSET
    service: None | str | Unset = UNSET
    url: None | str | Unset = UNSET
    parameters: JsonObject | Unset = UNSET
    time_limit_seconds: float | Unset = 30.0

    def to_dict(self) -> dict[str, Any]:
        from ..models.json_object import JsonObject # noqa: PLC0415
        type_ = self.type_.value

        turns = self.turns

        judge: str | Unset = UNSET
        if not isinstance(self.judge, Unset):
            judge = self.judge.value

        role: str | Unset = UNSET
        if not isinstance(self.role, Unset):
            role = self.role.value

        call: list[str] | None | Unset
        if isinstance(self.call, Unset):
            call = UNSET
        elif isinstance(self.call, list):
            call = self.call

        else:
            call = self.call

        result: list[str] | None | Unset
        if isinstance(self.result, Unset):
            result = UNSET
        elif isinstance(self.result, list):
            result = self.result

        else:
            result = self.result

        retry: None | str | Unset
        if isinstance(self.retry, Unset):
            retry = UNSET
        else:
            retry = self.retry

        service: None | str | Unset
        if isinstance(self.service, Unset):
            service = UNSET
        else:
            service = self.service

        url: None | str | Unset
        if isinstance(self.url, Unset):
            url = UNSET
        else:
            url = self.url

        parameters: dict[str, Any] | Unset = UNSET
        if not isinstance(self.parameters, Unset):
            parameters = self.parameters.to_dict()

        time_limit_seconds = self.time_limit_seconds

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "type": type_,
        })
        if turns is not UNSET:
            field_dict["turns"] = turns
        if judge is not UNSET:
            field_dict["judge"] = judge
        if role is not UNSET:
            field_dict["role"] = role
        if call is not UNSET:
            field_dict["call"] = call
        if result is not UNSET:
            field_dict["result"] = result
        if retry is not UNSET:
            field_dict["retry"] = retry
        if service is not UNSET:
            field_dict["service"] = service
        if url is not UNSET:
            field_dict["url"] = url
        if parameters is not UNSET:
            field_dict["parameters"] = parameters
        if time_limit_seconds is not UNSET:
            field_dict["time_limit_seconds"] = time_limit_seconds

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.json_object import JsonObject # noqa: PLC0415
        d = dict(src_dict)
        type_ = EnvironmentKind(d.pop("type"))

        turns = d.pop("turns", UNSET)

        _judge = d.pop("judge", UNSET)
        judge: Judged | Unset
        if isinstance(_judge,  Unset):
            judge = UNSET
        else:
            judge = Judged(_judge)

        _role = d.pop("role", UNSET)
        role: Answerer | Unset
        if isinstance(_role,  Unset):
            role = UNSET
        else:
            role = Answerer(_role)

        def _parse_call(data: object) -> list[str] | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                call_type_0 = cast(list[str], data)

                return call_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[str] | None | Unset, data)

        call = _parse_call(d.pop("call", UNSET))

        def _parse_result(data: object) -> list[str] | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                result_type_0 = cast(list[str], data)

                return result_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[str] | None | Unset, data)

        result = _parse_result(d.pop("result", UNSET))

        def _parse_retry(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        retry = _parse_retry(d.pop("retry", UNSET))

        def _parse_service(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        service = _parse_service(d.pop("service", UNSET))

        def _parse_url(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        url = _parse_url(d.pop("url", UNSET))

        _parameters = d.pop("parameters", UNSET)
        parameters: JsonObject | Unset
        if isinstance(_parameters,  Unset):
            parameters = UNSET
        else:
            parameters = JsonObject.from_dict(_parameters)

        time_limit_seconds = d.pop("time_limit_seconds", UNSET)

        environment_spec = cls(
            type_=type_,
            turns=turns,
            judge=judge,
            role=role,
            call=call,
            result=result,
            retry=retry,
            service=service,
            url=url,
            parameters=parameters,
            time_limit_seconds=time_limit_seconds,
        )

        return environment_spec
