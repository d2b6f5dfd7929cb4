from http import HTTPStatus
from typing import Any, cast
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...types import Response, UNSET
from ... import errors

from ...models.import_model import ImportModel
from ...models.model import Model
from ...models.problem import Problem
from ...types import UNSET, Unset
from typing import cast

def _get_kwargs(
    *,
    body: ImportModel,
    idempotency_key: str | Unset = UNSET,

) -> dict[str, Any]:
    headers: dict[str, Any] = {}
    if not isinstance(idempotency_key, Unset):
        headers["Idempotency-Key"] = idempotency_key

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/v1/models",
    }

    _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return _kwargs

def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Model | Problem | None:
    if response.status_code == 201:
        response_201 = Model.from_dict(response.json())

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

def _build_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Response[Model | Problem]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )

def sync_detailed(
    *,
    client: AuthenticatedClient | Client,
    body: ImportModel,
    idempotency_key: str | Unset = UNSET,

) -> Response[Model | Problem]:
    """ Import a model

     From the server's own disk (below a folder that the operator allows), from the hub, or from uploaded
    files; safetensors
    and GGUF only. What the headers of its files tell is checked before the answer; then its weights
    come by themselves:
    `status` says whether they have, `bytes_done` how far they are, and `failure` why they could not be
    had. Jobs can name
    the model at once, and wait for it. A model of the hub that is here already, at the same commit, is
    not brought again.
    An adapter becomes a model as well: `base` with the adapter.

    Args:
        idempotency_key (str | Unset):
        body (ImportModel): A model to import: one of `path`, `source` and `files`.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Model | Problem]
     """

    kwargs = _get_kwargs(
        body=body,
idempotency_key=idempotency_key,

    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)

def sync(
    *,
    client: AuthenticatedClient | Client,
    body: ImportModel,
    idempotency_key: str | Unset = UNSET,

) -> Model | Problem | None:
    """ Import a model

     From the server's own disk (below a folder that the operator allows), from the hub, or from uploaded
    files; safetensors
    and GGUF only. What the headers of its files tell is checked before the answer; then its weights
    come by themselves:
    `status` says whether they have, `bytes_done` how far they are, and `failure` why they could not be
    had. Jobs can name
    the model at once, and wait for it. A model of the hub that is here already, at the same commit, is
    not brought again.
    An adapter becomes a model as well: `base` with the adapter.

    Args:
        idempotency_key (str | Unset):
        body (ImportModel): A model to import: one of `path`, `source` and `files`.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Model | Problem
     """

    return sync_detailed(
        client=client,
body=body,
idempotency_key=idempotency_key,

    ).parsed

async def asyncio_detailed(
    *,
    client: AuthenticatedClient | Client,
    body: ImportModel,
    idempotency_key: str | Unset = UNSET,

) -> Response[Model | Problem]:
    """ Import a model

     From the server's own disk (below a folder that the operator allows), from the hub, or from uploaded
    files; safetensors
    and GGUF only. What the headers of its files tell is checked before the answer; then its weights
    come by themselves:
    `status` says whether they have, `bytes_done` how far they are, and `failure` why they could not be
    had. Jobs can name
    the model at once, and wait for it. A model of the hub that is here already, at the same commit, is
    not brought again.
    An adapter becomes a model as well: `base` with the adapter.

    Args:
        idempotency_key (str | Unset):
        body (ImportModel): A model to import: one of `path`, `source` and `files`.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Model | Problem]
     """

    kwargs = _get_kwargs(
        body=body,
idempotency_key=idempotency_key,

    )

    response = await client.get_async_httpx_client().request(
        **kwargs
    )

    return _build_response(client=client, response=response)

async def asyncio(
    *,
    client: AuthenticatedClient | Client,
    body: ImportModel,
    idempotency_key: str | Unset = UNSET,

) -> Model | Problem | None:
    """ Import a model

     From the server's own disk (below a folder that the operator allows), from the hub, or from uploaded
    files; safetensors
    and GGUF only. What the headers of its files tell is checked before the answer; then its weights
    come by themselves:
    `status` says whether they have, `bytes_done` how far they are, and `failure` why they could not be
    had. Jobs can name
    the model at once, and wait for it. A model of the hub that is here already, at the same commit, is
    not brought again.
    An adapter becomes a model as well: `base` with the adapter.

    Args:
        idempotency_key (str | Unset):
        body (ImportModel): A model to import: one of `path`, `source` and `files`.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Model | Problem
     """

    return (await asyncio_detailed(
        client=client,
body=body,
idempotency_key=idempotency_key,

    )).parsed
