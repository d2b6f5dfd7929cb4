from http import HTTPStatus
from typing import Any, cast
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...types import Response, UNSET
from ... import errors

from ...models.export import Export
from ...models.problem import Problem
from ...models.push_export import PushExport
from typing import cast

def _get_kwargs(
    id: str,
    *,
    body: PushExport,

) -> dict[str, Any]:
    headers: dict[str, Any] = {}

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/v1/exports/{id}/push".format(id=quote(str(id), safe=""),),
    }

    _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return _kwargs

def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Export | Problem | None:
    if response.status_code == 202:
        response_202 = Export.from_dict(response.json())

        return response_202

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

def _build_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Response[Export | Problem]:
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
    body: PushExport,

) -> Response[Export | Problem]:
    """ Push an export to the hub

     Brings the files of a ready export, with its model card, its manifest and what the server has
    signed, to a repository
    of the hub, as one commit. The server does so with its own token, where the operator lets it
    (`hub_push_to`). `push` of
    the export tells how far it is and how it ended. What the hub has of the files is not sent again,
    and other files of
    the repository stay.

    Args:
        id (str):
        body (PushExport): Where an export is to be pushed.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Export | Problem]
     """

    kwargs = _get_kwargs(
        id=id,
body=body,

    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)

def sync(
    id: str,
    *,
    client: AuthenticatedClient | Client,
    body: PushExport,

) -> Export | Problem | None:
    """ Push an export to the hub

     Brings the files of a ready export, with its model card, its manifest and what the server has
    signed, to a repository
    of the hub, as one commit. The server does so with its own token, where the operator lets it
    (`hub_push_to`). `push` of
    the export tells how far it is and how it ended. What the hub has of the files is not sent again,
    and other files of
    the repository stay.

    Args:
        id (str):
        body (PushExport): Where an export is to be pushed.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Export | Problem
     """

    return sync_detailed(
        id=id,
client=client,
body=body,

    ).parsed

async def asyncio_detailed(
    id: str,
    *,
    client: AuthenticatedClient | Client,
    body: PushExport,

) -> Response[Export | Problem]:
    """ Push an export to the hub

     Brings the files of a ready export, with its model card, its manifest and what the server has
    signed, to a repository
    of the hub, as one commit. The server does so with its own token, where the operator lets it
    (`hub_push_to`). `push` of
    the export tells how far it is and how it ended. What the hub has of the files is not sent again,
    and other files of
    the repository stay.

    Args:
        id (str):
        body (PushExport): Where an export is to be pushed.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Export | Problem]
     """

    kwargs = _get_kwargs(
        id=id,
body=body,

    )

    response = await client.get_async_httpx_client().request(
        **kwargs
    )

    return _build_response(client=client, response=response)

async def asyncio(
    id: str,
    *,
    client: AuthenticatedClient | Client,
    body: PushExport,

) -> Export | Problem | None:
    """ Push an export to the hub

     Brings the files of a ready export, with its model card, its manifest and what the server has
    signed, to a repository
    of the hub, as one commit. The server does so with its own token, where the operator lets it
    (`hub_push_to`). `push` of
    the export tells how far it is and how it ended. What the hub has of the files is not sent again,
    and other files of
    the repository stay.

    Args:
        id (str):
        body (PushExport): Where an export is to be pushed.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Export | Problem
     """

    return (await asyncio_detailed(
        id=id,
client=client,
body=body,

    )).parsed
