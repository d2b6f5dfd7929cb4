from http import HTTPStatus
from typing import Any, cast
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...types import Response, UNSET
from ... import errors

from ...models.metric_tables import MetricTables
from ...models.problem import Problem
from ...types import UNSET, Unset
from typing import cast

def _get_kwargs(
    *,
    jobs: str,
    digits: int | Unset = UNSET,
    keys: str | Unset = UNSET,
    from_step: int | Unset = UNSET,
    to_step: int | Unset = UNSET,
    points: int | Unset = UNSET,

) -> dict[str, Any]:

    params: dict[str, Any] = {}

    params["jobs"] = jobs

    params["digits"] = digits

    params["keys"] = keys

    params["from_step"] = from_step

    params["to_step"] = to_step

    params["points"] = points

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/v1/metrics",
        "params": params,
    }

    return _kwargs

def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> MetricTables | Problem | None:
    if response.status_code == 200:
        response_200 = MetricTables.from_dict(response.json())

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

def _build_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Response[MetricTables | Problem]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )

def sync_detailed(
    *,
    client: AuthenticatedClient | Client,
    jobs: str,
    digits: int | Unset = UNSET,
    keys: str | Unset = UNSET,
    from_step: int | Unset = UNSET,
    to_step: int | Unset = UNSET,
    points: int | Unset = UNSET,

) -> Response[MetricTables | Problem]:
    """ Get the metrics of several jobs

     What a page draws: the series of up to eight jobs, with steps that they share said once.

    Args:
        jobs (str):
        digits (int | Unset):
        keys (str | Unset):
        from_step (int | Unset):
        to_step (int | Unset):
        points (int | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[MetricTables | Problem]
     """

    kwargs = _get_kwargs(
        jobs=jobs,
digits=digits,
keys=keys,
from_step=from_step,
to_step=to_step,
points=points,

    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)

def sync(
    *,
    client: AuthenticatedClient | Client,
    jobs: str,
    digits: int | Unset = UNSET,
    keys: str | Unset = UNSET,
    from_step: int | Unset = UNSET,
    to_step: int | Unset = UNSET,
    points: int | Unset = UNSET,

) -> MetricTables | Problem | None:
    """ Get the metrics of several jobs

     What a page draws: the series of up to eight jobs, with steps that they share said once.

    Args:
        jobs (str):
        digits (int | Unset):
        keys (str | Unset):
        from_step (int | Unset):
        to_step (int | Unset):
        points (int | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        MetricTables | Problem
     """

    return sync_detailed(
        client=client,
jobs=jobs,
digits=digits,
keys=keys,
from_step=from_step,
to_step=to_step,
points=points,

    ).parsed

async def asyncio_detailed(
    *,
    client: AuthenticatedClient | Client,
    jobs: str,
    digits: int | Unset = UNSET,
    keys: str | Unset = UNSET,
    from_step: int | Unset = UNSET,
    to_step: int | Unset = UNSET,
    points: int | Unset = UNSET,

) -> Response[MetricTables | Problem]:
    """ Get the metrics of several jobs

     What a page draws: the series of up to eight jobs, with steps that they share said once.

    Args:
        jobs (str):
        digits (int | Unset):
        keys (str | Unset):
        from_step (int | Unset):
        to_step (int | Unset):
        points (int | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[MetricTables | Problem]
     """

    kwargs = _get_kwargs(
        jobs=jobs,
digits=digits,
keys=keys,
from_step=from_step,
to_step=to_step,
points=points,

    )

    response = await client.get_async_httpx_client().request(
        **kwargs
    )

    return _build_response(client=client, response=response)

async def asyncio(
    *,
    client: AuthenticatedClient | Client,
    jobs: str,
    digits: int | Unset = UNSET,
    keys: str | Unset = UNSET,
    from_step: int | Unset = UNSET,
    to_step: int | Unset = UNSET,
    points: int | Unset = UNSET,

) -> MetricTables | Problem | None:
    """ Get the metrics of several jobs

     What a page draws: the series of up to eight jobs, with steps that they share said once.

    Args:
        jobs (str):
        digits (int | Unset):
        keys (str | Unset):
        from_step (int | Unset):
        to_step (int | Unset):
        points (int | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        MetricTables | Problem
     """

    return (await asyncio_detailed(
        client=client,
jobs=jobs,
digits=digits,
keys=keys,
from_step=from_step,
to_step=to_step,
points=points,

    )).parsed
