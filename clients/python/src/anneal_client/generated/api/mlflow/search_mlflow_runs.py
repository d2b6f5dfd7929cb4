from http import HTTPStatus
from typing import Any, cast
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...types import Response, UNSET
from ... import errors

from ...models.mlflow_runs import MlflowRuns
from ...models.problem import Problem
from ...models.search_mlflow_runs import SearchMlflowRuns
from typing import cast

def _get_kwargs(
    *,
    body: SearchMlflowRuns,

) -> dict[str, Any]:
    headers: dict[str, Any] = {}

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/api/2.0/mlflow/runs/search",
    }

    _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return _kwargs

def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> MlflowRuns | Problem | None:
    if response.status_code == 200:
        response_200 = MlflowRuns.from_dict(response.json())

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

    if client.raise_on_unexpected_status:
        raise errors.UnexpectedStatus(response.status_code, response.content)
    else:
        return None

def _build_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Response[MlflowRuns | Problem]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )

def sync_detailed(
    *,
    client: AuthenticatedClient | Client,
    body: SearchMlflowRuns,

) -> Response[MlflowRuns | Problem]:
    """ Search runs, as MLflow does

     Jobs of the project or of its sweeps, at most 200 at a time.

    Args:
        body (SearchMlflowRuns): What MLflow's clients ask for. The newest are first.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[MlflowRuns | Problem]
     """

    kwargs = _get_kwargs(
        body=body,

    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)

def sync(
    *,
    client: AuthenticatedClient | Client,
    body: SearchMlflowRuns,

) -> MlflowRuns | Problem | None:
    """ Search runs, as MLflow does

     Jobs of the project or of its sweeps, at most 200 at a time.

    Args:
        body (SearchMlflowRuns): What MLflow's clients ask for. The newest are first.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        MlflowRuns | Problem
     """

    return sync_detailed(
        client=client,
body=body,

    ).parsed

async def asyncio_detailed(
    *,
    client: AuthenticatedClient | Client,
    body: SearchMlflowRuns,

) -> Response[MlflowRuns | Problem]:
    """ Search runs, as MLflow does

     Jobs of the project or of its sweeps, at most 200 at a time.

    Args:
        body (SearchMlflowRuns): What MLflow's clients ask for. The newest are first.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[MlflowRuns | Problem]
     """

    kwargs = _get_kwargs(
        body=body,

    )

    response = await client.get_async_httpx_client().request(
        **kwargs
    )

    return _build_response(client=client, response=response)

async def asyncio(
    *,
    client: AuthenticatedClient | Client,
    body: SearchMlflowRuns,

) -> MlflowRuns | Problem | None:
    """ Search runs, as MLflow does

     Jobs of the project or of its sweeps, at most 200 at a time.

    Args:
        body (SearchMlflowRuns): What MLflow's clients ask for. The newest are first.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        MlflowRuns | Problem
     """

    return (await asyncio_detailed(
        client=client,
body=body,

    )).parsed
