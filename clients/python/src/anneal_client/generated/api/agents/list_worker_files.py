from http import HTTPStatus
from typing import Any, cast
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...types import Response, UNSET
from ... import errors

from ...models.file_list import FileList
from ...models.problem import Problem
from typing import cast

def _get_kwargs(
    id: str,
    *,
    folder: str,

) -> dict[str, Any]:

    params: dict[str, Any] = {}

    params["folder"] = folder

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/v1/agent/workers/{id}/files".format(id=quote(str(id), safe=""),),
        "params": params,
    }

    return _kwargs

def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> FileList | Problem | None:
    if response.status_code == 200:
        response_200 = FileList.from_dict(response.json())

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

def _build_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Response[FileList | Problem]:
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
    folder: str,

) -> Response[FileList | Problem]:
    """ List files that a worker may read

     All files below a folder that a job refers to which the worker holds; none of one that is not there.

    Args:
        id (str):
        folder (str):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[FileList | Problem]
     """

    kwargs = _get_kwargs(
        id=id,
folder=folder,

    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)

def sync(
    id: str,
    *,
    client: AuthenticatedClient | Client,
    folder: str,

) -> FileList | Problem | None:
    """ List files that a worker may read

     All files below a folder that a job refers to which the worker holds; none of one that is not there.

    Args:
        id (str):
        folder (str):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        FileList | Problem
     """

    return sync_detailed(
        id=id,
client=client,
folder=folder,

    ).parsed

async def asyncio_detailed(
    id: str,
    *,
    client: AuthenticatedClient | Client,
    folder: str,

) -> Response[FileList | Problem]:
    """ List files that a worker may read

     All files below a folder that a job refers to which the worker holds; none of one that is not there.

    Args:
        id (str):
        folder (str):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[FileList | Problem]
     """

    kwargs = _get_kwargs(
        id=id,
folder=folder,

    )

    response = await client.get_async_httpx_client().request(
        **kwargs
    )

    return _build_response(client=client, response=response)

async def asyncio(
    id: str,
    *,
    client: AuthenticatedClient | Client,
    folder: str,

) -> FileList | Problem | None:
    """ List files that a worker may read

     All files below a folder that a job refers to which the worker holds; none of one that is not there.

    Args:
        id (str):
        folder (str):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        FileList | Problem
     """

    return (await asyncio_detailed(
        id=id,
client=client,
folder=folder,

    )).parsed
