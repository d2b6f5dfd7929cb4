from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast
from typing import Literal, cast

if TYPE_CHECKING:
  from ..models.json_object import JsonObject

T = TypeVar("T", bound="VerifierHttp")

@_attrs_define
class VerifierHttp:
    """ A scoring service gives the reward: cases are posted to it as JSON, signed and in batches.

        Attributes:
            type_ (Literal['http']):
            service (None | str | Unset): The service, by its name in the operator's settings, which have its address and
                its secrets.
            url (None | str | Unset): Or a public https address, to which requests go unsigned.
            columns (list[str] | None | Unset): Columns of the row to send; by default the whole row.
            answer_column (None | str | Unset): The column of the expected answer to send; by default the data set's answer
                column, if it has one.
            parameters (JsonObject | Unset): Any JSON object.
            score_range (list[float] | None | Unset): The scores that the service gives, from the lowest to the highest,
                which become rewards from 0 to 1; by default
                its scores are the rewards.
            batch_size (int | Unset): Most cases in one request. Default: 16.
            concurrency (int | Unset): Most requests at a time; the operator's limit for the service holds as well. Default:
                4.
            retries (int | Unset): How often a request is made again that got no answer, or one that says to try again (408,
                425, 429, 5xx). Default: 2.
            request_seconds (float | Unset): Seconds one request may take. Default: 20.0.
            time_limit_seconds (float | Unset): Seconds one verification may take, which is all requests for its batch.
                Default: 60.0.
     """

    type_: Literal['http']
    service: None | str | Unset = UNSET
    url: None | str | Unset = UNSET
    columns: list[str] | None | Unset = UNSET
    answer_column: None | str | Unset = UNSET
    parameters: JsonObject | Unset = UNSET
    score_range: list[float] | None | Unset = UNSET
    batch_size: int | Unset = 16
    concurrency: int | Unset = 4
    retries: int | Unset = 2
    request_seconds: float | Unset = 20.0
    time_limit_seconds: float | Unset = 60.0

    def to_dict(self) -> dict[str, Any]:
        from ..models.json_object import JsonObject # noqa: PLC0415
        type_ = self.type_

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

        columns: list[str] | None | Unset
        if isinstance(self.columns, Unset):
            columns = UNSET
        elif isinstance(self.columns, list):
            columns = self.columns

        else:
            columns = self.columns

        answer_column: None | str | Unset
        if isinstance(self.answer_column, Unset):
            answer_column = UNSET
        else:
            answer_column = self.answer_column

        parameters: dict[str, Any] | Unset = UNSET
        if not isinstance(self.parameters, Unset):
            parameters = self.parameters.to_dict()

        score_range: list[float] | None | Unset
        if isinstance(self.score_range, Unset):
            score_range = UNSET
        elif isinstance(self.score_range, list):
            score_range = self.score_range

        else:
            score_range = self.score_range

        batch_size = self.batch_size

        concurrency = self.concurrency

        retries = self.retries

        request_seconds = self.request_seconds

        time_limit_seconds = self.time_limit_seconds

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "type": type_,
        })
        if service is not UNSET:
            field_dict["service"] = service
        if url is not UNSET:
            field_dict["url"] = url
        if columns is not UNSET:
            field_dict["columns"] = columns
        if answer_column is not UNSET:
            field_dict["answer_column"] = answer_column
        if parameters is not UNSET:
            field_dict["parameters"] = parameters
        if score_range is not UNSET:
            field_dict["score_range"] = score_range
        if batch_size is not UNSET:
            field_dict["batch_size"] = batch_size
        if concurrency is not UNSET:
            field_dict["concurrency"] = concurrency
        if retries is not UNSET:
            field_dict["retries"] = retries
        if request_seconds is not UNSET:
            field_dict["request_seconds"] = request_seconds
        if time_limit_seconds is not UNSET:
            field_dict["time_limit_seconds"] = time_limit_seconds

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.json_object import JsonObject # noqa: PLC0415
        d = dict(src_dict)
        type_ = cast(Literal['http'] , d.pop("type"))
        if type_ != 'http':
            raise ValueError(f"type must match const 'http', got '{type_}'")

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

        def _parse_columns(data: object) -> list[str] | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                columns_type_0 = cast(list[str], data)

                return columns_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[str] | None | Unset, data)

        columns = _parse_columns(d.pop("columns", UNSET))

        def _parse_answer_column(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        answer_column = _parse_answer_column(d.pop("answer_column", UNSET))

        _parameters = d.pop("parameters", UNSET)
        parameters: JsonObject | Unset
        if isinstance(_parameters,  Unset):
            parameters = UNSET
        else:
            parameters = JsonObject.from_dict(_parameters)

        def _parse_score_range(data: object) -> list[float] | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                score_range_type_0 = cast(list[float], data)

                return score_range_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[float] | None | Unset, data)

        score_range = _parse_score_range(d.pop("score_range", UNSET))

        batch_size = d.pop("batch_size", UNSET)

        concurrency = d.pop("concurrency", UNSET)

        retries = d.pop("retries", UNSET)

        request_seconds = d.pop("request_seconds", UNSET)

        time_limit_seconds = d.pop("time_limit_seconds", UNSET)

        verifier_http = cls(
            type_=type_,
            service=service,
            url=url,
            columns=columns,
            answer_column=answer_column,
            parameters=parameters,
            score_range=score_range,
            batch_size=batch_size,
            concurrency=concurrency,
            retries=retries,
            request_seconds=request_seconds,
            time_limit_seconds=time_limit_seconds,
        )

        return verifier_http
