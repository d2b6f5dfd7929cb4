from http import HTTPStatus
from typing import Any, cast
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...types import Response, UNSET
from ... import errors

from ...models.assignment import Assignment
from ...models.problem import Problem
from typing import cast

def _get_kwargs(
    job: str,
    attempt: int,

) -> dict[str, Any]:

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/v1/agent/leases/{job}/{attempt}".format(job=quote(str(job), safe=""),attempt=quote(str(attempt), safe=""),),
    }

    return _kwargs

def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Assignment | Problem | None:
    if response.status_code == 200:
        response_200 = Assignment.from_dict(response.json())

        return response_200

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

def _build_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Response[Assignment | Problem]:
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

) -> Response[Assignment | Problem]:
    """ Get a claimed job

     As it was given to its worker, for other processes that take part in it, on any machine whose
    devices it has.

    Args:
        job (str):
        attempt (int):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Assignment | Problem]
     """

    kwargs = _get_kwargs(
        job=job,
attempt=attempt,

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

) -> Assignment | Problem | None:
    """ Get a claimed job

     As it was given to its worker, for other processes that take part in it, on any machine whose
    devices it has.

    Args:
        job (str):
        attempt (int):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Assignment | Problem
     """

    return sync_detailed(
        job=job,
attempt=attempt,
client=client,

    ).parsed

async def asyncio_detailed(
    job: str,
    attempt: int,
    *,
    client: AuthenticatedClient | Client,

) -> Response[Assignment | Problem]:
    """ Get a claimed job

     As it was given to its worker, for other processes that take part in it, on any machine whose
    devices it has.

    Args:
        job (str):
        attempt (int):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Assignment | Problem]
     """

    kwargs = _get_kwargs(
        job=job,
attempt=attempt,

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

) -> Assignment | Problem | None:
    """ Get a claimed job

     As it was given to its worker, for other processes that take part in it, on any machine whose
    devices it has.

    Args:
        job (str):
        attempt (int):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Assignment | Problem
     """

    return (await asyncio_detailed(
        job=job,
attempt=attempt,
client=client,

    )).parsed
