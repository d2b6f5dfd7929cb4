from http import HTTPStatus
from typing import Any, cast
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...types import Response, UNSET
from ... import errors

from ...models.builtin_dataset_list import BuiltinDatasetList
from ...models.problem import Problem
from ...types import UNSET, Unset
from typing import cast

def _get_kwargs(
    *,
    name: str | Unset = UNSET,

) -> dict[str, Any]:

    params: dict[str, Any] = {}

    params["name"] = name

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/v1/datasets/builtins",
        "params": params,
    }

    return _kwargs

def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> BuiltinDatasetList | Problem | None:
    if response.status_code == 200:
        response_200 = BuiltinDatasetList.from_dict(response.json())

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

def _build_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Response[BuiltinDatasetList | Problem]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )

def sync_detailed(
    *,
    client: AuthenticatedClient | Client,
    name: str | Unset = UNSET,

) -> Response[BuiltinDatasetList | Problem]:
    """ List built-in data sets

     The data sets that are part of the program, with the verifiers that judge them and a few rows. Those
    of tasks are made
    by rule and take parameters behind their names: `difficulty` (1 to 10; 1), `seed` (0) and `rows` (1
    to 1000000 to train
    on; 10000; a tenth as many are held out). Name one with its parameters to see its rows.

    Args:
        name (str | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[BuiltinDatasetList | Problem]
     """

    kwargs = _get_kwargs(
        name=name,

    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)

def sync(
    *,
    client: AuthenticatedClient | Client,
    name: str | Unset = UNSET,

) -> BuiltinDatasetList | Problem | None:
    """ List built-in data sets

     The data sets that are part of the program, with the verifiers that judge them and a few rows. Those
    of tasks are made
    by rule and take parameters behind their names: `difficulty` (1 to 10; 1), `seed` (0) and `rows` (1
    to 1000000 to train
    on; 10000; a tenth as many are held out). Name one with its parameters to see its rows.

    Args:
        name (str | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        BuiltinDatasetList | Problem
     """

    return sync_detailed(
        client=client,
name=name,

    ).parsed

async def asyncio_detailed(
    *,
    client: AuthenticatedClient | Client,
    name: str | Unset = UNSET,

) -> Response[BuiltinDatasetList | Problem]:
    """ List built-in data sets

     The data sets that are part of the program, with the verifiers that judge them and a few rows. Those
    of tasks are made
    by rule and take parameters behind their names: `difficulty` (1 to 10; 1), `seed` (0) and `rows` (1
    to 1000000 to train
    on; 10000; a tenth as many are held out). Name one with its parameters to see its rows.

    Args:
        name (str | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[BuiltinDatasetList | Problem]
     """

    kwargs = _get_kwargs(
        name=name,

    )

    response = await client.get_async_httpx_client().request(
        **kwargs
    )

    return _build_response(client=client, response=response)

async def asyncio(
    *,
    client: AuthenticatedClient | Client,
    name: str | Unset = UNSET,

) -> BuiltinDatasetList | Problem | None:
    """ List built-in data sets

     The data sets that are part of the program, with the verifiers that judge them and a few rows. Those
    of tasks are made
    by rule and take parameters behind their names: `difficulty` (1 to 10; 1), `seed` (0) and `rows` (1
    to 1000000 to train
    on; 10000; a tenth as many are held out). Name one with its parameters to see its rows.

    Args:
        name (str | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        BuiltinDatasetList | Problem
     """

    return (await asyncio_detailed(
        client=client,
name=name,

    )).parsed
