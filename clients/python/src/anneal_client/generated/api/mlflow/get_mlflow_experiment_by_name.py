from http import HTTPStatus
from typing import Any, cast
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...types import Response, UNSET
from ... import errors

from ...models.mlflow_experiment_found import MlflowExperimentFound
from ...models.problem import Problem
from typing import cast

def _get_kwargs(
    *,
    experiment_name: str,

) -> dict[str, Any]:

    params: dict[str, Any] = {}

    params["experiment_name"] = experiment_name

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/api/2.0/mlflow/experiments/get-by-name",
        "params": params,
    }

    return _kwargs

def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> MlflowExperimentFound | Problem | None:
    if response.status_code == 200:
        response_200 = MlflowExperimentFound.from_dict(response.json())

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

def _build_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Response[MlflowExperimentFound | Problem]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )

def sync_detailed(
    *,
    client: AuthenticatedClient | Client,
    experiment_name: str,

) -> Response[MlflowExperimentFound | Problem]:
    """ Get an experiment by its name, as MLflow does

    Args:
        experiment_name (str):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[MlflowExperimentFound | Problem]
     """

    kwargs = _get_kwargs(
        experiment_name=experiment_name,

    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)

def sync(
    *,
    client: AuthenticatedClient | Client,
    experiment_name: str,

) -> MlflowExperimentFound | Problem | None:
    """ Get an experiment by its name, as MLflow does

    Args:
        experiment_name (str):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        MlflowExperimentFound | Problem
     """

    return sync_detailed(
        client=client,
experiment_name=experiment_name,

    ).parsed

async def asyncio_detailed(
    *,
    client: AuthenticatedClient | Client,
    experiment_name: str,

) -> Response[MlflowExperimentFound | Problem]:
    """ Get an experiment by its name, as MLflow does

    Args:
        experiment_name (str):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[MlflowExperimentFound | Problem]
     """

    kwargs = _get_kwargs(
        experiment_name=experiment_name,

    )

    response = await client.get_async_httpx_client().request(
        **kwargs
    )

    return _build_response(client=client, response=response)

async def asyncio(
    *,
    client: AuthenticatedClient | Client,
    experiment_name: str,

) -> MlflowExperimentFound | Problem | None:
    """ Get an experiment by its name, as MLflow does

    Args:
        experiment_name (str):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        MlflowExperimentFound | Problem
     """

    return (await asyncio_detailed(
        client=client,
experiment_name=experiment_name,

    )).parsed
