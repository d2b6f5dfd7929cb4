from http import HTTPStatus
from typing import Any, cast
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...types import Response, UNSET
from ... import errors

from ...models.problem import Problem
from ...models.received_file import ReceivedFile
from ...types import File, FileTypes
from io import BytesIO
from typing import cast

def _get_kwargs(
    id: str,
    *,
    body: File,
    path: str,
    offset: int,
    size: int,
    sha256: str,

) -> dict[str, Any]:
    headers: dict[str, Any] = {}

    params: dict[str, Any] = {}

    params["path"] = path

    params["offset"] = offset

    params["size"] = size

    params["sha256"] = sha256

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "put",
        "url": "/v1/agent/workers/{id}/file".format(id=quote(str(id), safe=""),),
        "params": params,
    }

    _kwargs["content"] = body.payload
    headers["Content-Type"] = "application/octet-stream"

    _kwargs["headers"] = headers
    return _kwargs

def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Problem | ReceivedFile | None:
    if response.status_code == 200:
        response_200 = ReceivedFile.from_dict(response.json())

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

def _build_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Response[Problem | ReceivedFile]:
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
    body: File,
    path: str,
    offset: int,
    size: int,
    sha256: str,

) -> Response[Problem | ReceivedFile]:
    """ Send a piece of a file

     Pieces of at most 32 MiB come one after the other. A piece that does not begin where the last one
    ended changes nothing:
    the answer tells where to go on, so that a piece of no bytes asks how much is there. With its last
    byte the file is
    checked, and lies at its place.

    Args:
        id (str):
        path (str):
        offset (int):
        size (int):
        sha256 (str):
        body (File):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Problem | ReceivedFile]
     """

    kwargs = _get_kwargs(
        id=id,
body=body,
path=path,
offset=offset,
size=size,
sha256=sha256,

    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)

def sync(
    id: str,
    *,
    client: AuthenticatedClient | Client,
    body: File,
    path: str,
    offset: int,
    size: int,
    sha256: str,

) -> Problem | ReceivedFile | None:
    """ Send a piece of a file

     Pieces of at most 32 MiB come one after the other. A piece that does not begin where the last one
    ended changes nothing:
    the answer tells where to go on, so that a piece of no bytes asks how much is there. With its last
    byte the file is
    checked, and lies at its place.

    Args:
        id (str):
        path (str):
        offset (int):
        size (int):
        sha256 (str):
        body (File):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Problem | ReceivedFile
     """

    return sync_detailed(
        id=id,
client=client,
body=body,
path=path,
offset=offset,
size=size,
sha256=sha256,

    ).parsed

async def asyncio_detailed(
    id: str,
    *,
    client: AuthenticatedClient | Client,
    body: File,
    path: str,
    offset: int,
    size: int,
    sha256: str,

) -> Response[Problem | ReceivedFile]:
    """ Send a piece of a file

     Pieces of at most 32 MiB come one after the other. A piece that does not begin where the last one
    ended changes nothing:
    the answer tells where to go on, so that a piece of no bytes asks how much is there. With its last
    byte the file is
    checked, and lies at its place.

    Args:
        id (str):
        path (str):
        offset (int):
        size (int):
        sha256 (str):
        body (File):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Problem | ReceivedFile]
     """

    kwargs = _get_kwargs(
        id=id,
body=body,
path=path,
offset=offset,
size=size,
sha256=sha256,

    )

    response = await client.get_async_httpx_client().request(
        **kwargs
    )

    return _build_response(client=client, response=response)

async def asyncio(
    id: str,
    *,
    client: AuthenticatedClient | Client,
    body: File,
    path: str,
    offset: int,
    size: int,
    sha256: str,

) -> Problem | ReceivedFile | None:
    """ Send a piece of a file

     Pieces of at most 32 MiB come one after the other. A piece that does not begin where the last one
    ended changes nothing:
    the answer tells where to go on, so that a piece of no bytes asks how much is there. With its last
    byte the file is
    checked, and lies at its place.

    Args:
        id (str):
        path (str):
        offset (int):
        size (int):
        sha256 (str):
        body (File):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Problem | ReceivedFile
     """

    return (await asyncio_detailed(
        id=id,
client=client,
body=body,
path=path,
offset=offset,
size=size,
sha256=sha256,

    )).parsed
