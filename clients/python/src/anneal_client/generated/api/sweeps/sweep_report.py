from http import HTTPStatus
from typing import Any, cast
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...types import Response, UNSET
from ... import errors

from ...models.problem import Problem
from ...models.sweep_report import SweepReport
from ...types import UNSET, Unset
from typing import cast

def _get_kwargs(
    id: str,
    *,
    metric: str | Unset = UNSET,
    baseline: int | Unset = UNSET,

) -> dict[str, Any]:

    params: dict[str, Any] = {}

    params["metric"] = metric

    params["baseline"] = baseline

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/v1/sweeps/{id}/report".format(id=quote(str(id), safe=""),),
        "params": params,
    }

    return _kwargs

def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Problem | SweepReport | None:
    if response.status_code == 200:
        response_200 = SweepReport.from_dict(response.json())

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

def _build_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Response[Problem | SweepReport]:
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
    metric: str | Unset = UNSET,
    baseline: int | Unset = UNSET,

) -> Response[Problem | SweepReport]:
    """ Report a sweep

     Means over seeds, and paired differences from the baseline, with intervals that hold together
    whatever number of
    configurations is compared. While trials run it is about those that are over.

    Args:
        id (str):
        metric (str | Unset):
        baseline (int | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Problem | SweepReport]
     """

    kwargs = _get_kwargs(
        id=id,
metric=metric,
baseline=baseline,

    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)

def sync(
    id: str,
    *,
    client: AuthenticatedClient | Client,
    metric: str | Unset = UNSET,
    baseline: int | Unset = UNSET,

) -> Problem | SweepReport | None:
    """ Report a sweep

     Means over seeds, and paired differences from the baseline, with intervals that hold together
    whatever number of
    configurations is compared. While trials run it is about those that are over.

    Args:
        id (str):
        metric (str | Unset):
        baseline (int | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Problem | SweepReport
     """

    return sync_detailed(
        id=id,
client=client,
metric=metric,
baseline=baseline,

    ).parsed

async def asyncio_detailed(
    id: str,
    *,
    client: AuthenticatedClient | Client,
    metric: str | Unset = UNSET,
    baseline: int | Unset = UNSET,

) -> Response[Problem | SweepReport]:
    """ Report a sweep

     Means over seeds, and paired differences from the baseline, with intervals that hold together
    whatever number of
    configurations is compared. While trials run it is about those that are over.

    Args:
        id (str):
        metric (str | Unset):
        baseline (int | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Problem | SweepReport]
     """

    kwargs = _get_kwargs(
        id=id,
metric=metric,
baseline=baseline,

    )

    response = await client.get_async_httpx_client().request(
        **kwargs
    )

    return _build_response(client=client, response=response)

async def asyncio(
    id: str,
    *,
    client: AuthenticatedClient | Client,
    metric: str | Unset = UNSET,
    baseline: int | Unset = UNSET,

) -> Problem | SweepReport | None:
    """ Report a sweep

     Means over seeds, and paired differences from the baseline, with intervals that hold together
    whatever number of
    configurations is compared. While trials run it is about those that are over.

    Args:
        id (str):
        metric (str | Unset):
        baseline (int | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Problem | SweepReport
     """

    return (await asyncio_detailed(
        id=id,
client=client,
metric=metric,
baseline=baseline,

    )).parsed
