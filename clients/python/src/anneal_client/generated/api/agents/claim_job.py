from http import HTTPStatus
from typing import Any, cast
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...types import Response, UNSET
from ... import errors

from ...models.assignment import Assignment
from ...models.claim_request import ClaimRequest
from ...models.problem import Problem
from ...types import UNSET, Unset
from typing import cast

def _get_kwargs(
    id: str,
    *,
    body: ClaimRequest,
    wait: int | Unset = UNSET,

) -> dict[str, Any]:
    headers: dict[str, Any] = {}

    params: dict[str, Any] = {}

    params["wait"] = wait

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/v1/agent/workers/{id}/claim".format(id=quote(str(id), safe=""),),
        "params": params,
    }

    _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return _kwargs

def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Any | Assignment | Problem | None:
    if response.status_code == 200:
        response_200 = Assignment.from_dict(response.json())

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

def _build_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Response[Any | Assignment | Problem]:
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
    body: ClaimRequest,
    wait: int | Unset = UNSET,

) -> Response[Any | Assignment | Problem]:
    """ Take a job

     The job that is to start on the worker's device, as soon as there is one. `held` names those that
    the worker has: one
    that it was given before, and never heard of, is given again. A worker that `takes_part` is also
    given, with `part`, jobs
    of several machines that another worker leads and that have its device.

    Args:
        id (str):
        wait (int | Unset):
        body (ClaimRequest): A worker that can take a job.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Any | Assignment | Problem]
     """

    kwargs = _get_kwargs(
        id=id,
body=body,
wait=wait,

    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)

def sync(
    id: str,
    *,
    client: AuthenticatedClient | Client,
    body: ClaimRequest,
    wait: int | Unset = UNSET,

) -> Any | Assignment | Problem | None:
    """ Take a job

     The job that is to start on the worker's device, as soon as there is one. `held` names those that
    the worker has: one
    that it was given before, and never heard of, is given again. A worker that `takes_part` is also
    given, with `part`, jobs
    of several machines that another worker leads and that have its device.

    Args:
        id (str):
        wait (int | Unset):
        body (ClaimRequest): A worker that can take a job.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Any | Assignment | Problem
     """

    return sync_detailed(
        id=id,
client=client,
body=body,
wait=wait,

    ).parsed

async def asyncio_detailed(
    id: str,
    *,
    client: AuthenticatedClient | Client,
    body: ClaimRequest,
    wait: int | Unset = UNSET,

) -> Response[Any | Assignment | Problem]:
    """ Take a job

     The job that is to start on the worker's device, as soon as there is one. `held` names those that
    the worker has: one
    that it was given before, and never heard of, is given again. A worker that `takes_part` is also
    given, with `part`, jobs
    of several machines that another worker leads and that have its device.

    Args:
        id (str):
        wait (int | Unset):
        body (ClaimRequest): A worker that can take a job.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Any | Assignment | Problem]
     """

    kwargs = _get_kwargs(
        id=id,
body=body,
wait=wait,

    )

    response = await client.get_async_httpx_client().request(
        **kwargs
    )

    return _build_response(client=client, response=response)

async def asyncio(
    id: str,
    *,
    client: AuthenticatedClient | Client,
    body: ClaimRequest,
    wait: int | Unset = UNSET,

) -> Any | Assignment | Problem | None:
    """ Take a job

     The job that is to start on the worker's device, as soon as there is one. `held` names those that
    the worker has: one
    that it was given before, and never heard of, is given again. A worker that `takes_part` is also
    given, with `part`, jobs
    of several machines that another worker leads and that have its device.

    Args:
        id (str):
        wait (int | Unset):
        body (ClaimRequest): A worker that can take a job.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Any | Assignment | Problem
     """

    return (await asyncio_detailed(
        id=id,
client=client,
body=body,
wait=wait,

    )).parsed
