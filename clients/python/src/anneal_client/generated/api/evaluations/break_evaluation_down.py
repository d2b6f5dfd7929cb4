from http import HTTPStatus
from typing import Any, cast
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...types import Response, UNSET
from ... import errors

from ...models.evaluation_breakdown import EvaluationBreakdown
from ...models.problem import Problem
from ...types import UNSET, Unset
from typing import cast

def _get_kwargs(
    id: str,
    *,
    by: str | Unset = UNSET,
    k: str | Unset = UNSET,

) -> dict[str, Any]:

    params: dict[str, Any] = {}

    params["by"] = by

    params["k"] = k

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/v1/evaluations/{id}/breakdown".format(id=quote(str(id), safe=""),),
        "params": params,
    }

    return _kwargs

def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> EvaluationBreakdown | Problem | None:
    if response.status_code == 200:
        response_200 = EvaluationBreakdown.from_dict(response.json())

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

def _build_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Response[EvaluationBreakdown | Problem]:
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
    by: str | Unset = UNSET,
    k: str | Unset = UNSET,

) -> Response[EvaluationBreakdown | Problem]:
    """ Break an evaluation down

     pass@k, maj@k, lengths and truncation for each value of a column of the rows. A column of many
    different numbers is
    taken in quarters of the prompts.

    Args:
        id (str):
        by (str | Unset):
        k (str | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[EvaluationBreakdown | Problem]
     """

    kwargs = _get_kwargs(
        id=id,
by=by,
k=k,

    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)

def sync(
    id: str,
    *,
    client: AuthenticatedClient | Client,
    by: str | Unset = UNSET,
    k: str | Unset = UNSET,

) -> EvaluationBreakdown | Problem | None:
    """ Break an evaluation down

     pass@k, maj@k, lengths and truncation for each value of a column of the rows. A column of many
    different numbers is
    taken in quarters of the prompts.

    Args:
        id (str):
        by (str | Unset):
        k (str | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        EvaluationBreakdown | Problem
     """

    return sync_detailed(
        id=id,
client=client,
by=by,
k=k,

    ).parsed

async def asyncio_detailed(
    id: str,
    *,
    client: AuthenticatedClient | Client,
    by: str | Unset = UNSET,
    k: str | Unset = UNSET,

) -> Response[EvaluationBreakdown | Problem]:
    """ Break an evaluation down

     pass@k, maj@k, lengths and truncation for each value of a column of the rows. A column of many
    different numbers is
    taken in quarters of the prompts.

    Args:
        id (str):
        by (str | Unset):
        k (str | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[EvaluationBreakdown | Problem]
     """

    kwargs = _get_kwargs(
        id=id,
by=by,
k=k,

    )

    response = await client.get_async_httpx_client().request(
        **kwargs
    )

    return _build_response(client=client, response=response)

async def asyncio(
    id: str,
    *,
    client: AuthenticatedClient | Client,
    by: str | Unset = UNSET,
    k: str | Unset = UNSET,

) -> EvaluationBreakdown | Problem | None:
    """ Break an evaluation down

     pass@k, maj@k, lengths and truncation for each value of a column of the rows. A column of many
    different numbers is
    taken in quarters of the prompts.

    Args:
        id (str):
        by (str | Unset):
        k (str | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        EvaluationBreakdown | Problem
     """

    return (await asyncio_detailed(
        id=id,
client=client,
by=by,
k=k,

    )).parsed
