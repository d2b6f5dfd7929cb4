from http import HTTPStatus
from typing import Any, cast
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...types import Response, UNSET
from ... import errors

from ...models.create_sweep import CreateSweep
from ...models.problem import Problem
from ...models.sweep import Sweep
from ...types import UNSET, Unset
from typing import cast

def _get_kwargs(
    *,
    body: CreateSweep,
    idempotency_key: str | Unset = UNSET,

) -> dict[str, Any]:
    headers: dict[str, Any] = {}
    if not isinstance(idempotency_key, Unset):
        headers["Idempotency-Key"] = idempotency_key

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/v1/sweeps",
    }

    _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return _kwargs

def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Problem | Sweep | None:
    if response.status_code == 201:
        response_201 = Sweep.from_dict(response.json())

        return response_201

    if response.status_code == 400:
        response_400 = Problem.from_dict(response.json())

        return response_400

    if response.status_code == 401:
        response_401 = Problem.from_dict(response.json())

        return response_401

    if response.status_code == 403:
        response_403 = Problem.from_dict(response.json())

        return response_403

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

def _build_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Response[Problem | Sweep]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )

def sync_detailed(
    *,
    client: AuthenticatedClient | Client,
    body: CreateSweep,
    idempotency_key: str | Unset = UNSET,

) -> Response[Problem | Sweep]:
    """ Create a sweep

     Makes a job for every configuration and seed, at most 1000 in all, and puts the first `at_once` of
    them into the queue; the
    others are `paused` and follow, in their order, as these end. Every spec is checked before a job is
    made. A job of a sweep
    is a job like others: follow, pause, cancel and fork it by its id. With an `Idempotency-Key` header
    the same request can be
    repeated for 24 hours without making a second sweep.

    Args:
        idempotency_key (str | Unset):
        body (CreateSweep): A sweep to make.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Problem | Sweep]
     """

    kwargs = _get_kwargs(
        body=body,
idempotency_key=idempotency_key,

    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)

def sync(
    *,
    client: AuthenticatedClient | Client,
    body: CreateSweep,
    idempotency_key: str | Unset = UNSET,

) -> Problem | Sweep | None:
    """ Create a sweep

     Makes a job for every configuration and seed, at most 1000 in all, and puts the first `at_once` of
    them into the queue; the
    others are `paused` and follow, in their order, as these end. Every spec is checked before a job is
    made. A job of a sweep
    is a job like others: follow, pause, cancel and fork it by its id. With an `Idempotency-Key` header
    the same request can be
    repeated for 24 hours without making a second sweep.

    Args:
        idempotency_key (str | Unset):
        body (CreateSweep): A sweep to make.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Problem | Sweep
     """

    return sync_detailed(
        client=client,
body=body,
idempotency_key=idempotency_key,

    ).parsed

async def asyncio_detailed(
    *,
    client: AuthenticatedClient | Client,
    body: CreateSweep,
    idempotency_key: str | Unset = UNSET,

) -> Response[Problem | Sweep]:
    """ Create a sweep

     Makes a job for every configuration and seed, at most 1000 in all, and puts the first `at_once` of
    them into the queue; the
    others are `paused` and follow, in their order, as these end. Every spec is checked before a job is
    made. A job of a sweep
    is a job like others: follow, pause, cancel and fork it by its id. With an `Idempotency-Key` header
    the same request can be
    repeated for 24 hours without making a second sweep.

    Args:
        idempotency_key (str | Unset):
        body (CreateSweep): A sweep to make.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Problem | Sweep]
     """

    kwargs = _get_kwargs(
        body=body,
idempotency_key=idempotency_key,

    )

    response = await client.get_async_httpx_client().request(
        **kwargs
    )

    return _build_response(client=client, response=response)

async def asyncio(
    *,
    client: AuthenticatedClient | Client,
    body: CreateSweep,
    idempotency_key: str | Unset = UNSET,

) -> Problem | Sweep | None:
    """ Create a sweep

     Makes a job for every configuration and seed, at most 1000 in all, and puts the first `at_once` of
    them into the queue; the
    others are `paused` and follow, in their order, as these end. Every spec is checked before a job is
    made. A job of a sweep
    is a job like others: follow, pause, cancel and fork it by its id. With an `Idempotency-Key` header
    the same request can be
    repeated for 24 hours without making a second sweep.

    Args:
        idempotency_key (str | Unset):
        body (CreateSweep): A sweep to make.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Problem | Sweep
     """

    return (await asyncio_detailed(
        client=client,
body=body,
idempotency_key=idempotency_key,

    )).parsed
