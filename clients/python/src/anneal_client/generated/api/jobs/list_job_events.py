from http import HTTPStatus
from typing import Any, cast
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...types import Response, UNSET
from ... import errors

from ...models.job_event_list import JobEventList
from ...models.problem import Problem
from ...types import UNSET, Unset
from typing import cast

def _get_kwargs(
    id: str,
    *,
    after: int | Unset = UNSET,
    wait: int | Unset = UNSET,
    limit: int | Unset = UNSET,
    stream: bool | Unset = UNSET,
    last_event_id: int | Unset = UNSET,

) -> dict[str, Any]:
    headers: dict[str, Any] = {}
    if not isinstance(last_event_id, Unset):
        headers["Last-Event-ID"] = str(last_event_id)

    params: dict[str, Any] = {}

    params["after"] = after

    params["wait"] = wait

    params["limit"] = limit

    params["stream"] = stream

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/v1/jobs/{id}/events".format(id=quote(str(id), safe=""),),
        "params": params,
    }

    _kwargs["headers"] = headers
    return _kwargs

def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Any | JobEventList | Problem | None:
    if response.status_code == 200:
        response_200 = JobEventList.from_dict(response.json())

        return response_200

    if response.status_code == 204:
        response_204 = cast(Any, None)
        return response_204

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

def _build_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Response[Any | JobEventList | Problem]:
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
    after: int | Unset = UNSET,
    wait: int | Unset = UNSET,
    limit: int | Unset = UNSET,
    stream: bool | Unset = UNSET,
    last_event_id: int | Unset = UNSET,

) -> Response[Any | JobEventList | Problem]:
    """ Follow a job's events

     With `Accept: text/event-stream` (or `?stream=true`) the whole log is streamed as server-sent
    events, `id` being
    the event's `seq`; `Last-Event-ID` or `?after=` resumes behind an event, and the stream ends with
    the job.
    Otherwise a page of the log is returned, after waiting for it up to `wait` seconds.

    Args:
        id (str):
        after (int | Unset):
        wait (int | Unset):
        limit (int | Unset):
        stream (bool | Unset):
        last_event_id (int | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Any | JobEventList | Problem]
     """

    kwargs = _get_kwargs(
        id=id,
after=after,
wait=wait,
limit=limit,
stream=stream,
last_event_id=last_event_id,

    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)

def sync(
    id: str,
    *,
    client: AuthenticatedClient | Client,
    after: int | Unset = UNSET,
    wait: int | Unset = UNSET,
    limit: int | Unset = UNSET,
    stream: bool | Unset = UNSET,
    last_event_id: int | Unset = UNSET,

) -> Any | JobEventList | Problem | None:
    """ Follow a job's events

     With `Accept: text/event-stream` (or `?stream=true`) the whole log is streamed as server-sent
    events, `id` being
    the event's `seq`; `Last-Event-ID` or `?after=` resumes behind an event, and the stream ends with
    the job.
    Otherwise a page of the log is returned, after waiting for it up to `wait` seconds.

    Args:
        id (str):
        after (int | Unset):
        wait (int | Unset):
        limit (int | Unset):
        stream (bool | Unset):
        last_event_id (int | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Any | JobEventList | Problem
     """

    return sync_detailed(
        id=id,
client=client,
after=after,
wait=wait,
limit=limit,
stream=stream,
last_event_id=last_event_id,

    ).parsed

async def asyncio_detailed(
    id: str,
    *,
    client: AuthenticatedClient | Client,
    after: int | Unset = UNSET,
    wait: int | Unset = UNSET,
    limit: int | Unset = UNSET,
    stream: bool | Unset = UNSET,
    last_event_id: int | Unset = UNSET,

) -> Response[Any | JobEventList | Problem]:
    """ Follow a job's events

     With `Accept: text/event-stream` (or `?stream=true`) the whole log is streamed as server-sent
    events, `id` being
    the event's `seq`; `Last-Event-ID` or `?after=` resumes behind an event, and the stream ends with
    the job.
    Otherwise a page of the log is returned, after waiting for it up to `wait` seconds.

    Args:
        id (str):
        after (int | Unset):
        wait (int | Unset):
        limit (int | Unset):
        stream (bool | Unset):
        last_event_id (int | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Any | JobEventList | Problem]
     """

    kwargs = _get_kwargs(
        id=id,
after=after,
wait=wait,
limit=limit,
stream=stream,
last_event_id=last_event_id,

    )

    response = await client.get_async_httpx_client().request(
        **kwargs
    )

    return _build_response(client=client, response=response)

async def asyncio(
    id: str,
    *,
    client: AuthenticatedClient | Client,
    after: int | Unset = UNSET,
    wait: int | Unset = UNSET,
    limit: int | Unset = UNSET,
    stream: bool | Unset = UNSET,
    last_event_id: int | Unset = UNSET,

) -> Any | JobEventList | Problem | None:
    """ Follow a job's events

     With `Accept: text/event-stream` (or `?stream=true`) the whole log is streamed as server-sent
    events, `id` being
    the event's `seq`; `Last-Event-ID` or `?after=` resumes behind an event, and the stream ends with
    the job.
    Otherwise a page of the log is returned, after waiting for it up to `wait` seconds.

    Args:
        id (str):
        after (int | Unset):
        wait (int | Unset):
        limit (int | Unset):
        stream (bool | Unset):
        last_event_id (int | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Any | JobEventList | Problem
     """

    return (await asyncio_detailed(
        id=id,
client=client,
after=after,
wait=wait,
limit=limit,
stream=stream,
last_event_id=last_event_id,

    )).parsed
