from http import HTTPStatus
from typing import Any, cast
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...types import Response, UNSET
from ... import errors

from ...models.mlflow_run_found import MlflowRunFound
from ...models.problem import Problem
from ...types import UNSET, Unset
from typing import cast

def _get_kwargs(
    *,
    run_id: str,
    run_uuid: str | Unset = UNSET,

) -> dict[str, Any]:

    params: dict[str, Any] = {}

    params["run_id"] = run_id

    params["run_uuid"] = run_uuid

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/api/2.0/mlflow/runs/get",
        "params": params,
    }

    return _kwargs

def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> MlflowRunFound | Problem | None:
    if response.status_code == 200:
        response_200 = MlflowRunFound.from_dict(response.json())

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

def _build_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Response[MlflowRunFound | Problem]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )

def sync_detailed(
    *,
    client: AuthenticatedClient | Client,
    run_id: str,
    run_uuid: str | Unset = UNSET,

) -> Response[MlflowRunFound | Problem]:
    """ Get a run, as MLflow does

    Args:
        run_id (str):
        run_uuid (str | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[MlflowRunFound | Problem]
     """

    kwargs = _get_kwargs(
        run_id=run_id,
run_uuid=run_uuid,

    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)

def sync(
    *,
    client: AuthenticatedClient | Client,
    run_id: str,
    run_uuid: str | Unset = UNSET,

) -> MlflowRunFound | Problem | None:
    """ Get a run, as MLflow does

    Args:
        run_id (str):
        run_uuid (str | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        MlflowRunFound | Problem
     """

    return sync_detailed(
        client=client,
run_id=run_id,
run_uuid=run_uuid,

    ).parsed

async def asyncio_detailed(
    *,
    client: AuthenticatedClient | Client,
    run_id: str,
    run_uuid: str | Unset = UNSET,

) -> Response[MlflowRunFound | Problem]:
    """ Get a run, as MLflow does

    Args:
        run_id (str):
        run_uuid (str | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[MlflowRunFound | Problem]
     """

    kwargs = _get_kwargs(
        run_id=run_id,
run_uuid=run_uuid,

    )

    response = await client.get_async_httpx_client().request(
        **kwargs
    )

    return _build_response(client=client, response=response)

async def asyncio(
    *,
    client: AuthenticatedClient | Client,
    run_id: str,
    run_uuid: str | Unset = UNSET,

) -> MlflowRunFound | Problem | None:
    """ Get a run, as MLflow does

    Args:
        run_id (str):
        run_uuid (str | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        MlflowRunFound | Problem
     """

    return (await asyncio_detailed(
        client=client,
run_id=run_id,
run_uuid=run_uuid,

    )).parsed
