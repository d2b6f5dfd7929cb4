from http import HTTPStatus
from typing import Any, cast
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...types import Response, UNSET
from ... import errors

from ...models.answer import Answer
from ...models.call_replies import CallReplies
from ...models.problem import Problem
from typing import cast

def _get_kwargs(
    id: str,
    call: int,
    *,
    body: CallReplies,

) -> dict[str, Any]:
    headers: dict[str, Any] = {}

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/v1/agent/workers/{id}/calls/{call}".format(id=quote(str(id), safe=""),call=quote(str(call), safe=""),),
    }

    _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return _kwargs

def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Answer | Problem | None:
    if response.status_code == 200:
        response_200 = Answer.from_dict(response.json())

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

    if response.status_code == 413:
        response_413 = Problem.from_dict(response.json())

        return response_413

    if response.status_code == 422:
        response_422 = Problem.from_dict(response.json())

        return response_422

    if response.status_code == 429:
        response_429 = Problem.from_dict(response.json())

        return response_429

    if response.status_code == 500:
        response_500 = Problem.from_dict(response.json())

        return response_500

    if response.status_code == 503:
        response_503 = Problem.from_dict(response.json())

        return response_503

    if response.status_code == 507:
        response_507 = Problem.from_dict(response.json())

        return response_507

    if client.raise_on_unexpected_status:
        raise errors.UnexpectedStatus(response.status_code, response.content)
    else:
        return None

def _build_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Response[Answer | Problem]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )

def sync_detailed(
    id: str,
    call: int,
    *,
    client: AuthenticatedClient | Client,
    body: CallReplies,

) -> Response[Answer | Problem]:
    """ Answer a request for completions

     Replies in their order, a few at a time, with the number of those before: what is told again is
    taken once. A worker that
    answers says something at least every five seconds, and stops when the answer is `cancel`: nobody
    listens any more.

    Args:
        id (str):
        call (int):
        body (CallReplies): What a worker says to a request for completions.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Answer | Problem]
     """

    kwargs = _get_kwargs(
        id=id,
call=call,
body=body,

    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)

def sync(
    id: str,
    call: int,
    *,
    client: AuthenticatedClient | Client,
    body: CallReplies,

) -> Answer | Problem | None:
    """ Answer a request for completions

     Replies in their order, a few at a time, with the number of those before: what is told again is
    taken once. A worker that
    answers says something at least every five seconds, and stops when the answer is `cancel`: nobody
    listens any more.

    Args:
        id (str):
        call (int):
        body (CallReplies): What a worker says to a request for completions.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Answer | Problem
     """

    return sync_detailed(
        id=id,
call=call,
client=client,
body=body,

    ).parsed

async def asyncio_detailed(
    id: str,
    call: int,
    *,
    client: AuthenticatedClient | Client,
    body: CallReplies,

) -> Response[Answer | Problem]:
    """ Answer a request for completions

     Replies in their order, a few at a time, with the number of those before: what is told again is
    taken once. A worker that
    answers says something at least every five seconds, and stops when the answer is `cancel`: nobody
    listens any more.

    Args:
        id (str):
        call (int):
        body (CallReplies): What a worker says to a request for completions.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Answer | Problem]
     """

    kwargs = _get_kwargs(
        id=id,
call=call,
body=body,

    )

    response = await client.get_async_httpx_client().request(
        **kwargs
    )

    return _build_response(client=client, response=response)

async def asyncio(
    id: str,
    call: int,
    *,
    client: AuthenticatedClient | Client,
    body: CallReplies,

) -> Answer | Problem | None:
    """ Answer a request for completions

     Replies in their order, a few at a time, with the number of those before: what is told again is
    taken once. A worker that
    answers says something at least every five seconds, and stops when the answer is `cancel`: nobody
    listens any more.

    Args:
        id (str):
        call (int):
        body (CallReplies): What a worker says to a request for completions.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Answer | Problem
     """

    return (await asyncio_detailed(
        id=id,
call=call,
client=client,
body=body,

    )).parsed
