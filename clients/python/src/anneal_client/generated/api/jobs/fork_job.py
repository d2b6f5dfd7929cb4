from http import HTTPStatus
from typing import Any, cast
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...types import Response, UNSET
from ... import errors

from ...models.fork_job import ForkJob
from ...models.job import Job
from ...models.problem import Problem
from ...types import UNSET, Unset
from typing import cast

def _get_kwargs(
    id: str,
    *,
    body: ForkJob,
    idempotency_key: str | Unset = UNSET,

) -> dict[str, Any]:
    headers: dict[str, Any] = {}
    if not isinstance(idempotency_key, Unset):
        headers["Idempotency-Key"] = idempotency_key

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/v1/jobs/{id}/fork".format(id=quote(str(id), safe=""),),
    }

    _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return _kwargs

def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Job | Problem | None:
    if response.status_code == 201:
        response_201 = Job.from_dict(response.json())

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

def _build_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Response[Job | Problem]:
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
    body: ForkJob,
    idempotency_key: str | Unset = UNSET,

) -> Response[Job | Problem]:
    """ Fork a job

     Submits a new job with the spec of this one, changed: `name`, `from` and `control` are put in first,
    then the operations
    of `patch` are applied in their order. A `control` run is called after what it is, and has it in its
    metadata. Pointers of errors about the resulting spec are pointers into that spec. With an
    `Idempotency-Key` header the same request can be repeated for 24 hours without making a second job.

    Args:
        id (str):
        idempotency_key (str | Unset):
        body (ForkJob): How the fork differs.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Job | Problem]
     """

    kwargs = _get_kwargs(
        id=id,
body=body,
idempotency_key=idempotency_key,

    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)

def sync(
    id: str,
    *,
    client: AuthenticatedClient | Client,
    body: ForkJob,
    idempotency_key: str | Unset = UNSET,

) -> Job | Problem | None:
    """ Fork a job

     Submits a new job with the spec of this one, changed: `name`, `from` and `control` are put in first,
    then the operations
    of `patch` are applied in their order. A `control` run is called after what it is, and has it in its
    metadata. Pointers of errors about the resulting spec are pointers into that spec. With an
    `Idempotency-Key` header the same request can be repeated for 24 hours without making a second job.

    Args:
        id (str):
        idempotency_key (str | Unset):
        body (ForkJob): How the fork differs.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Job | Problem
     """

    return sync_detailed(
        id=id,
client=client,
body=body,
idempotency_key=idempotency_key,

    ).parsed

async def asyncio_detailed(
    id: str,
    *,
    client: AuthenticatedClient | Client,
    body: ForkJob,
    idempotency_key: str | Unset = UNSET,

) -> Response[Job | Problem]:
    """ Fork a job

     Submits a new job with the spec of this one, changed: `name`, `from` and `control` are put in first,
    then the operations
    of `patch` are applied in their order. A `control` run is called after what it is, and has it in its
    metadata. Pointers of errors about the resulting spec are pointers into that spec. With an
    `Idempotency-Key` header the same request can be repeated for 24 hours without making a second job.

    Args:
        id (str):
        idempotency_key (str | Unset):
        body (ForkJob): How the fork differs.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Job | Problem]
     """

    kwargs = _get_kwargs(
        id=id,
body=body,
idempotency_key=idempotency_key,

    )

    response = await client.get_async_httpx_client().request(
        **kwargs
    )

    return _build_response(client=client, response=response)

async def asyncio(
    id: str,
    *,
    client: AuthenticatedClient | Client,
    body: ForkJob,
    idempotency_key: str | Unset = UNSET,

) -> Job | Problem | None:
    """ Fork a job

     Submits a new job with the spec of this one, changed: `name`, `from` and `control` are put in first,
    then the operations
    of `patch` are applied in their order. A `control` run is called after what it is, and has it in its
    metadata. Pointers of errors about the resulting spec are pointers into that spec. With an
    `Idempotency-Key` header the same request can be repeated for 24 hours without making a second job.

    Args:
        id (str):
        idempotency_key (str | Unset):
        body (ForkJob): How the fork differs.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Job | Problem
     """

    return (await asyncio_detailed(
        id=id,
client=client,
body=body,
idempotency_key=idempotency_key,

    )).parsed
