from http import HTTPStatus
from typing import Any, cast
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...types import Response, UNSET
from ... import errors

from ...models.list_order import ListOrder
from ...models.problem import Problem
from ...models.suite_run_list import SuiteRunList
from ...types import UNSET, Unset
from typing import cast

def _get_kwargs(
    id: str,
    *,
    job: str | Unset = UNSET,
    limit: int | Unset = UNSET,
    after: str | Unset = UNSET,
    order: ListOrder | Unset = UNSET,

) -> dict[str, Any]:

    params: dict[str, Any] = {}

    params["job"] = job

    params["limit"] = limit

    params["after"] = after

    json_order: str | Unset = UNSET
    if not isinstance(order, Unset):
        json_order = order.value

    params["order"] = json_order

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/v1/suites/{id}/runs".format(id=quote(str(id), safe=""),),
        "params": params,
    }

    return _kwargs

def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Problem | SuiteRunList | None:
    if response.status_code == 200:
        response_200 = SuiteRunList.from_dict(response.json())

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

def _build_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Response[Problem | SuiteRunList]:
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
    job: str | Unset = UNSET,
    limit: int | Unset = UNSET,
    after: str | Unset = UNSET,
    order: ListOrder | Unset = UNSET,

) -> Response[Problem | SuiteRunList]:
    """ List runs of a suite

     With what each of them found on each set: how models compare, and how they have become.

    Args:
        id (str):
        job (str | Unset):
        limit (int | Unset):
        after (str | Unset):
        order (ListOrder | Unset): The order of a list.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Problem | SuiteRunList]
     """

    kwargs = _get_kwargs(
        id=id,
job=job,
limit=limit,
after=after,
order=order,

    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)

def sync(
    id: str,
    *,
    client: AuthenticatedClient | Client,
    job: str | Unset = UNSET,
    limit: int | Unset = UNSET,
    after: str | Unset = UNSET,
    order: ListOrder | Unset = UNSET,

) -> Problem | SuiteRunList | None:
    """ List runs of a suite

     With what each of them found on each set: how models compare, and how they have become.

    Args:
        id (str):
        job (str | Unset):
        limit (int | Unset):
        after (str | Unset):
        order (ListOrder | Unset): The order of a list.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Problem | SuiteRunList
     """

    return sync_detailed(
        id=id,
client=client,
job=job,
limit=limit,
after=after,
order=order,

    ).parsed

async def asyncio_detailed(
    id: str,
    *,
    client: AuthenticatedClient | Client,
    job: str | Unset = UNSET,
    limit: int | Unset = UNSET,
    after: str | Unset = UNSET,
    order: ListOrder | Unset = UNSET,

) -> Response[Problem | SuiteRunList]:
    """ List runs of a suite

     With what each of them found on each set: how models compare, and how they have become.

    Args:
        id (str):
        job (str | Unset):
        limit (int | Unset):
        after (str | Unset):
        order (ListOrder | Unset): The order of a list.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Problem | SuiteRunList]
     """

    kwargs = _get_kwargs(
        id=id,
job=job,
limit=limit,
after=after,
order=order,

    )

    response = await client.get_async_httpx_client().request(
        **kwargs
    )

    return _build_response(client=client, response=response)

async def asyncio(
    id: str,
    *,
    client: AuthenticatedClient | Client,
    job: str | Unset = UNSET,
    limit: int | Unset = UNSET,
    after: str | Unset = UNSET,
    order: ListOrder | Unset = UNSET,

) -> Problem | SuiteRunList | None:
    """ List runs of a suite

     With what each of them found on each set: how models compare, and how they have become.

    Args:
        id (str):
        job (str | Unset):
        limit (int | Unset):
        after (str | Unset):
        order (ListOrder | Unset): The order of a list.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Problem | SuiteRunList
     """

    return (await asyncio_detailed(
        id=id,
client=client,
job=job,
limit=limit,
after=after,
order=order,

    )).parsed
