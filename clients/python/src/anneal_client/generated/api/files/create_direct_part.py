from http import HTTPStatus
from typing import Any, cast
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...types import Response, UNSET
from ... import errors

from ...models.create_direct_part import CreateDirectPart
from ...models.direct_part import DirectPart
from ...models.problem import Problem
from ...types import UNSET, Unset
from typing import cast

def _get_kwargs(
    id: str,
    *,
    body: CreateDirectPart,
    idempotency_key: str | Unset = UNSET,

) -> dict[str, Any]:
    headers: dict[str, Any] = {}
    if not isinstance(idempotency_key, Unset):
        headers["Idempotency-Key"] = idempotency_key

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/v1/uploads/{id}/direct-parts".format(id=quote(str(id), safe=""),),
    }

    _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return _kwargs

def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> DirectPart | Problem | None:
    if response.status_code == 201:
        response_201 = DirectPart.from_dict(response.json())

        return response_201

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

def _build_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Response[DirectPart | Problem]:
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
    body: CreateDirectPart,
    idempotency_key: str | Unset = UNSET,

) -> Response[DirectPart | Problem]:
    """ Send a part straight to the bucket

     Answers with an address of the object storage to which the part is sent with `PUT`, past this
    server, as often as it takes;
    that it has arrived as announced is checked when the upload is completed. Only where files are in a
    bucket that clients
    reach (`--artifacts`, `--redirect-downloads`); elsewhere parts are sent to the server
    (`/v1/uploads/{id}/parts`).

    Args:
        id (str):
        idempotency_key (str | Unset):
        body (CreateDirectPart): The part that is going to be sent.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[DirectPart | Problem]
     """

    kwargs = _get_kwargs(
        id=id,
body=body,
idempotency_key=idempotency_key,

    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)

def sync(
    id: str,
    *,
    client: AuthenticatedClient | Client,
    body: CreateDirectPart,
    idempotency_key: str | Unset = UNSET,

) -> DirectPart | Problem | None:
    """ Send a part straight to the bucket

     Answers with an address of the object storage to which the part is sent with `PUT`, past this
    server, as often as it takes;
    that it has arrived as announced is checked when the upload is completed. Only where files are in a
    bucket that clients
    reach (`--artifacts`, `--redirect-downloads`); elsewhere parts are sent to the server
    (`/v1/uploads/{id}/parts`).

    Args:
        id (str):
        idempotency_key (str | Unset):
        body (CreateDirectPart): The part that is going to be sent.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        DirectPart | Problem
     """

    return sync_detailed(
        id=id,
client=client,
body=body,
idempotency_key=idempotency_key,

    ).parsed

async def asyncio_detailed(
    id: str,
    *,
    client: AuthenticatedClient | Client,
    body: CreateDirectPart,
    idempotency_key: str | Unset = UNSET,

) -> Response[DirectPart | Problem]:
    """ Send a part straight to the bucket

     Answers with an address of the object storage to which the part is sent with `PUT`, past this
    server, as often as it takes;
    that it has arrived as announced is checked when the upload is completed. Only where files are in a
    bucket that clients
    reach (`--artifacts`, `--redirect-downloads`); elsewhere parts are sent to the server
    (`/v1/uploads/{id}/parts`).

    Args:
        id (str):
        idempotency_key (str | Unset):
        body (CreateDirectPart): The part that is going to be sent.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[DirectPart | Problem]
     """

    kwargs = _get_kwargs(
        id=id,
body=body,
idempotency_key=idempotency_key,

    )

    response = await client.get_async_httpx_client().request(
        **kwargs
    )

    return _build_response(client=client, response=response)

async def asyncio(
    id: str,
    *,
    client: AuthenticatedClient | Client,
    body: CreateDirectPart,
    idempotency_key: str | Unset = UNSET,

) -> DirectPart | Problem | None:
    """ Send a part straight to the bucket

     Answers with an address of the object storage to which the part is sent with `PUT`, past this
    server, as often as it takes;
    that it has arrived as announced is checked when the upload is completed. Only where files are in a
    bucket that clients
    reach (`--artifacts`, `--redirect-downloads`); elsewhere parts are sent to the server
    (`/v1/uploads/{id}/parts`).

    Args:
        id (str):
        idempotency_key (str | Unset):
        body (CreateDirectPart): The part that is going to be sent.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        DirectPart | Problem
     """

    return (await asyncio_detailed(
        id=id,
client=client,
body=body,
idempotency_key=idempotency_key,

    )).parsed
