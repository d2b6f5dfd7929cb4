from http import HTTPStatus
from typing import Any, cast
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...types import Response, UNSET
from ... import errors

from ...models.problem import Problem
from ...models.rendezvous import Rendezvous
from ...models.server_time import ServerTime
from typing import cast

def _get_kwargs(
    job: str,
    attempt: int,
    *,
    body: Rendezvous,

) -> dict[str, Any]:
    headers: dict[str, Any] = {}

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/v1/agent/leases/{job}/{attempt}/rendezvous".format(job=quote(str(job), safe=""),attempt=quote(str(attempt), safe=""),),
    }

    _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return _kwargs

def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Problem | ServerTime | None:
    if response.status_code == 200:
        response_200 = ServerTime.from_dict(response.json())

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

def _build_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Response[Problem | ServerTime]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )

def sync_detailed(
    job: str,
    attempt: int,
    *,
    client: AuthenticatedClient | Client,
    body: Rendezvous,

) -> Response[Problem | ServerTime]:
    """ Wait for the other machines of a job

     The first worker of a job on several machines tells where it waits for the others, which learn of it
    when they ask for a job.

    Args:
        job (str):
        attempt (int):
        body (Rendezvous): Where the first worker of a job waits for those of other machines.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Problem | ServerTime]
     """

    kwargs = _get_kwargs(
        job=job,
attempt=attempt,
body=body,

    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)

def sync(
    job: str,
    attempt: int,
    *,
    client: AuthenticatedClient | Client,
    body: Rendezvous,

) -> Problem | ServerTime | None:
    """ Wait for the other machines of a job

     The first worker of a job on several machines tells where it waits for the others, which learn of it
    when they ask for a job.

    Args:
        job (str):
        attempt (int):
        body (Rendezvous): Where the first worker of a job waits for those of other machines.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Problem | ServerTime
     """

    return sync_detailed(
        job=job,
attempt=attempt,
client=client,
body=body,

    ).parsed

async def asyncio_detailed(
    job: str,
    attempt: int,
    *,
    client: AuthenticatedClient | Client,
    body: Rendezvous,

) -> Response[Problem | ServerTime]:
    """ Wait for the other machines of a job

     The first worker of a job on several machines tells where it waits for the others, which learn of it
    when they ask for a job.

    Args:
        job (str):
        attempt (int):
        body (Rendezvous): Where the first worker of a job waits for those of other machines.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Problem | ServerTime]
     """

    kwargs = _get_kwargs(
        job=job,
attempt=attempt,
body=body,

    )

    response = await client.get_async_httpx_client().request(
        **kwargs
    )

    return _build_response(client=client, response=response)

async def asyncio(
    job: str,
    attempt: int,
    *,
    client: AuthenticatedClient | Client,
    body: Rendezvous,

) -> Problem | ServerTime | None:
    """ Wait for the other machines of a job

     The first worker of a job on several machines tells where it waits for the others, which learn of it
    when they ask for a job.

    Args:
        job (str):
        attempt (int):
        body (Rendezvous): Where the first worker of a job waits for those of other machines.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Problem | ServerTime
     """

    return (await asyncio_detailed(
        job=job,
attempt=attempt,
client=client,
body=body,

    )).parsed
