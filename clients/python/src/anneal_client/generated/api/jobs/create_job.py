from http import HTTPStatus
from typing import Any, cast
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...types import Response, UNSET
from ... import errors

from ...models.dry_run import DryRun
from ...models.job import Job
from ...models.job_spec import JobSpec
from ...models.preflight import Preflight
from ...models.problem import Problem
from ...types import UNSET, Unset
from typing import cast

def _get_kwargs(
    *,
    body: JobSpec,
    dry_run: DryRun | Unset = UNSET,
    reuse: bool | Unset = UNSET,
    idempotency_key: str | Unset = UNSET,

) -> dict[str, Any]:
    headers: dict[str, Any] = {}
    if not isinstance(idempotency_key, Unset):
        headers["Idempotency-Key"] = idempotency_key

    params: dict[str, Any] = {}

    json_dry_run: str | Unset = UNSET
    if not isinstance(dry_run, Unset):
        json_dry_run = dry_run.value

    params["dry_run"] = json_dry_run

    params["reuse"] = reuse

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/v1/jobs",
        "params": params,
    }

    _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return _kwargs

def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Job | Preflight | Problem | None:
    if response.status_code == 200:
        response_200 = Preflight.from_dict(response.json())

        return response_200

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

def _build_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Response[Job | Preflight | Problem]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )

def sync_detailed(
    *,
    client: AuthenticatedClient | Client,
    body: JobSpec,
    dry_run: DryRun | Unset = UNSET,
    reuse: bool | Unset = UNSET,
    idempotency_key: str | Unset = UNSET,

) -> Response[Job | Preflight | Problem]:
    """ Submit a job

     Checks the spec, fills in defaults and puts the job into the queue. With an `Idempotency-Key` header
    the same
    request can be repeated for 24 hours without making a second job. With `dry_run` nothing is made. An
    answer that a job of
    before gives has the header `Idempotent-Replayed`.

    Args:
        dry_run (DryRun | Unset): How much a dry run checks.
        reuse (bool | Unset):
        idempotency_key (str | Unset):
        body (JobSpec): A training job.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Job | Preflight | Problem]
     """

    kwargs = _get_kwargs(
        body=body,
dry_run=dry_run,
reuse=reuse,
idempotency_key=idempotency_key,

    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)

def sync(
    *,
    client: AuthenticatedClient | Client,
    body: JobSpec,
    dry_run: DryRun | Unset = UNSET,
    reuse: bool | Unset = UNSET,
    idempotency_key: str | Unset = UNSET,

) -> Job | Preflight | Problem | None:
    """ Submit a job

     Checks the spec, fills in defaults and puts the job into the queue. With an `Idempotency-Key` header
    the same
    request can be repeated for 24 hours without making a second job. With `dry_run` nothing is made. An
    answer that a job of
    before gives has the header `Idempotent-Replayed`.

    Args:
        dry_run (DryRun | Unset): How much a dry run checks.
        reuse (bool | Unset):
        idempotency_key (str | Unset):
        body (JobSpec): A training job.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Job | Preflight | Problem
     """

    return sync_detailed(
        client=client,
body=body,
dry_run=dry_run,
reuse=reuse,
idempotency_key=idempotency_key,

    ).parsed

async def asyncio_detailed(
    *,
    client: AuthenticatedClient | Client,
    body: JobSpec,
    dry_run: DryRun | Unset = UNSET,
    reuse: bool | Unset = UNSET,
    idempotency_key: str | Unset = UNSET,

) -> Response[Job | Preflight | Problem]:
    """ Submit a job

     Checks the spec, fills in defaults and puts the job into the queue. With an `Idempotency-Key` header
    the same
    request can be repeated for 24 hours without making a second job. With `dry_run` nothing is made. An
    answer that a job of
    before gives has the header `Idempotent-Replayed`.

    Args:
        dry_run (DryRun | Unset): How much a dry run checks.
        reuse (bool | Unset):
        idempotency_key (str | Unset):
        body (JobSpec): A training job.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Job | Preflight | Problem]
     """

    kwargs = _get_kwargs(
        body=body,
dry_run=dry_run,
reuse=reuse,
idempotency_key=idempotency_key,

    )

    response = await client.get_async_httpx_client().request(
        **kwargs
    )

    return _build_response(client=client, response=response)

async def asyncio(
    *,
    client: AuthenticatedClient | Client,
    body: JobSpec,
    dry_run: DryRun | Unset = UNSET,
    reuse: bool | Unset = UNSET,
    idempotency_key: str | Unset = UNSET,

) -> Job | Preflight | Problem | None:
    """ Submit a job

     Checks the spec, fills in defaults and puts the job into the queue. With an `Idempotency-Key` header
    the same
    request can be repeated for 24 hours without making a second job. With `dry_run` nothing is made. An
    answer that a job of
    before gives has the header `Idempotent-Replayed`.

    Args:
        dry_run (DryRun | Unset): How much a dry run checks.
        reuse (bool | Unset):
        idempotency_key (str | Unset):
        body (JobSpec): A training job.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Job | Preflight | Problem
     """

    return (await asyncio_detailed(
        client=client,
body=body,
dry_run=dry_run,
reuse=reuse,
idempotency_key=idempotency_key,

    )).parsed
