from http import HTTPStatus
from typing import Any, cast
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...types import Response, UNSET
from ... import errors

from ...models.problem import Problem
from ...models.report import Report
from ...models.report_format import ReportFormat
from ...types import UNSET, Unset
from typing import cast

def _get_kwargs(
    id: str,
    *,
    format_: ReportFormat | Unset = UNSET,

) -> dict[str, Any]:

    params: dict[str, Any] = {}

    json_format_: str | Unset = UNSET
    if not isinstance(format_, Unset):
        json_format_ = format_.value

    params["format"] = json_format_

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/v1/jobs/{id}/report".format(id=quote(str(id), safe=""),),
        "params": params,
    }

    return _kwargs

def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Problem | Report | None:
    if response.status_code == 200:
        response_200 = Report.from_dict(response.json())

        return response_200

    if response.status_code == 400:
        response_400 = Problem.from_dict(response.json())

        return response_400

    if response.status_code == 401:
        response_401 = Problem.from_dict(response.json())

        return response_401

    if response.status_code == 403:
        response_403 = Problem.from_dict(response.json())

        return response_403

    if response.status_code == 404:
        response_404 = Problem.from_dict(response.json())

        return response_404

    if response.status_code == 409:
        response_409 = Problem.from_dict(response.json())

        return response_409

    if response.status_code == 429:
        response_429 = Problem.from_dict(response.json())

        return response_429

    if response.status_code == 500:
        response_500 = Problem.from_dict(response.json())

        return response_500

    if response.status_code == 503:
        response_503 = Problem.from_dict(response.json())

        return response_503

    if client.raise_on_unexpected_status:
        raise errors.UnexpectedStatus(response.status_code, response.content)
    else:
        return None

def _build_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Response[Problem | Report]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )

def sync_detailed(
    id: str,
    *,
    client: AuthenticatedClient | Client,
    format_: ReportFormat | Unset = UNSET,

) -> Response[Problem | Report]:
    """ Report a job

     One document with what the job is, what it took, what it reached, what went wrong, and the digests
    of what it made:
    as JSON, as Markdown for people, or as JUnit XML for CI, with one test case for the success of the
    job and one for
    each demand of its gate.

    Args:
        id (str):
        format_ (ReportFormat | Unset): The form of a report.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Problem | Report]
     """

    kwargs = _get_kwargs(
        id=id,
format_=format_,

    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)

def sync(
    id: str,
    *,
    client: AuthenticatedClient | Client,
    format_: ReportFormat | Unset = UNSET,

) -> Problem | Report | None:
    """ Report a job

     One document with what the job is, what it took, what it reached, what went wrong, and the digests
    of what it made:
    as JSON, as Markdown for people, or as JUnit XML for CI, with one test case for the success of the
    job and one for
    each demand of its gate.

    Args:
        id (str):
        format_ (ReportFormat | Unset): The form of a report.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Problem | Report
     """

    return sync_detailed(
        id=id,
client=client,
format_=format_,

    ).parsed

async def asyncio_detailed(
    id: str,
    *,
    client: AuthenticatedClient | Client,
    format_: ReportFormat | Unset = UNSET,

) -> Response[Problem | Report]:
    """ Report a job

     One document with what the job is, what it took, what it reached, what went wrong, and the digests
    of what it made:
    as JSON, as Markdown for people, or as JUnit XML for CI, with one test case for the success of the
    job and one for
    each demand of its gate.

    Args:
        id (str):
        format_ (ReportFormat | Unset): The form of a report.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Problem | Report]
     """

    kwargs = _get_kwargs(
        id=id,
format_=format_,

    )

    response = await client.get_async_httpx_client().request(
        **kwargs
    )

    return _build_response(client=client, response=response)

async def asyncio(
    id: str,
    *,
    client: AuthenticatedClient | Client,
    format_: ReportFormat | Unset = UNSET,

) -> Problem | Report | None:
    """ Report a job

     One document with what the job is, what it took, what it reached, what went wrong, and the digests
    of what it made:
    as JSON, as Markdown for people, or as JUnit XML for CI, with one test case for the success of the
    job and one for
    each demand of its gate.

    Args:
        id (str):
        format_ (ReportFormat | Unset): The form of a report.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Problem | Report
     """

    return (await asyncio_detailed(
        id=id,
client=client,
format_=format_,

    )).parsed
