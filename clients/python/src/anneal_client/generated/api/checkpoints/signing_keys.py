from http import HTTPStatus
from typing import Any, cast
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...types import Response, UNSET
from ... import errors

from ...models.problem import Problem
from ...models.signing_keys_response_200 import SigningKeysResponse200
from typing import cast

def _get_kwargs(

) -> dict[str, Any]:

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/.well-known/jwks.json",
    }

    return _kwargs

def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Problem | SigningKeysResponse200 | None:
    if response.status_code == 200:
        response_200 = SigningKeysResponse200.from_dict(response.json())

        return response_200

    if response.status_code == 403:
        response_403 = Problem.from_dict(response.json())

        return response_403

    if response.status_code == 500:
        response_500 = Problem.from_dict(response.json())

        return response_500

    if client.raise_on_unexpected_status:
        raise errors.UnexpectedStatus(response.status_code, response.content)
    else:
        return None

def _build_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Response[Problem | SigningKeysResponse200]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )

def sync_detailed(
    *,
    client: AuthenticatedClient | Client,

) -> Response[Problem | SigningKeysResponse200]:
    """ Get the server's public keys

     A JSON Web Key Set (RFC 7517, RFC 8037) with the Ed25519 key that signs what jobs make, called by
    its thumbprint
    (RFC 7638). Keep it where those who verify downloads can trust it: `anneal verify DIR --key
    jwks.json`.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Problem | SigningKeysResponse200]
     """

    kwargs = _get_kwargs(

    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)

def sync(
    *,
    client: AuthenticatedClient | Client,

) -> Problem | SigningKeysResponse200 | None:
    """ Get the server's public keys

     A JSON Web Key Set (RFC 7517, RFC 8037) with the Ed25519 key that signs what jobs make, called by
    its thumbprint
    (RFC 7638). Keep it where those who verify downloads can trust it: `anneal verify DIR --key
    jwks.json`.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Problem | SigningKeysResponse200
     """

    return sync_detailed(
        client=client,

    ).parsed

async def asyncio_detailed(
    *,
    client: AuthenticatedClient | Client,

) -> Response[Problem | SigningKeysResponse200]:
    """ Get the server's public keys

     A JSON Web Key Set (RFC 7517, RFC 8037) with the Ed25519 key that signs what jobs make, called by
    its thumbprint
    (RFC 7638). Keep it where those who verify downloads can trust it: `anneal verify DIR --key
    jwks.json`.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Problem | SigningKeysResponse200]
     """

    kwargs = _get_kwargs(

    )

    response = await client.get_async_httpx_client().request(
        **kwargs
    )

    return _build_response(client=client, response=response)

async def asyncio(
    *,
    client: AuthenticatedClient | Client,

) -> Problem | SigningKeysResponse200 | None:
    """ Get the server's public keys

     A JSON Web Key Set (RFC 7517, RFC 8037) with the Ed25519 key that signs what jobs make, called by
    its thumbprint
    (RFC 7638). Keep it where those who verify downloads can trust it: `anneal verify DIR --key
    jwks.json`.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Problem | SigningKeysResponse200
     """

    return (await asyncio_detailed(
        client=client,

    )).parsed
