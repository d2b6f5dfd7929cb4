from http import HTTPStatus
from typing import Any, cast
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...types import Response, UNSET
from ... import errors

from ...models.job_kind import JobKind
from ...models.job_list import JobList
from ...models.job_status import JobStatus
from ...models.list_order import ListOrder
from ...models.problem import Problem
from ...types import UNSET, Unset
from typing import cast

def _get_kwargs(
    *,
    limit: int | Unset = UNSET,
    after: str | Unset = UNSET,
    order: ListOrder | Unset = UNSET,
    status: JobStatus | Unset = UNSET,
    kind: JobKind | Unset = UNSET,
    objective: str | Unset = UNSET,
    model: str | Unset = UNSET,
    forked_from: str | Unset = UNSET,
    q: str | Unset = UNSET,
    created_after: int | Unset = UNSET,
    created_before: int | Unset = UNSET,
    metadatakey: str | Unset = UNSET,
    if_none_match: str | Unset = UNSET,

) -> dict[str, Any]:
    headers: dict[str, Any] = {}
    if not isinstance(if_none_match, Unset):
        headers["If-None-Match"] = if_none_match

    params: dict[str, Any] = {}

    params["limit"] = limit

    params["after"] = after

    json_order: str | Unset = UNSET
    if not isinstance(order, Unset):
        json_order = order.value

    params["order"] = json_order

    json_status: str | Unset = UNSET
    if not isinstance(status, Unset):
        json_status = status.value

    params["status"] = json_status

    json_kind: str | Unset = UNSET
    if not isinstance(kind, Unset):
        json_kind = kind.value

    params["kind"] = json_kind

    params["objective"] = objective

    params["model"] = model

    params["forked_from"] = forked_from

    params["q"] = q

    params["created_after"] = created_after

    params["created_before"] = created_before

    params["metadata[key]"] = metadatakey

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/v1/jobs",
        "params": params,
    }

    _kwargs["headers"] = headers
    return _kwargs

def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Any | JobList | Problem | None:
    if response.status_code == 200:
        response_200 = JobList.from_dict(response.json())

        return response_200

    if response.status_code == 304:
        response_304 = cast(Any, None)
        return response_304

    if response.status_code == 400:
        response_400 = Problem.from_dict(response.json())

        return response_400

    if response.status_code == 401:
        response_401 = Problem.from_dict(response.json())

        return response_401

    if response.status_code == 403:
        response_403 = Problem.from_dict(response.json())

        return response_403

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

def _build_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Response[Any | JobList | Problem]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )

def sync_detailed(
    *,
    client: AuthenticatedClient | Client,
    limit: int | Unset = UNSET,
    after: str | Unset = UNSET,
    order: ListOrder | Unset = UNSET,
    status: JobStatus | Unset = UNSET,
    kind: JobKind | Unset = UNSET,
    objective: str | Unset = UNSET,
    model: str | Unset = UNSET,
    forked_from: str | Unset = UNSET,
    q: str | Unset = UNSET,
    created_after: int | Unset = UNSET,
    created_before: int | Unset = UNSET,
    metadatakey: str | Unset = UNSET,
    if_none_match: str | Unset = UNSET,

) -> Response[Any | JobList | Problem]:
    """ List jobs

     Jobs that meet all that is asked for. A job in a list comes without `result.report`, which may be
    long. The `ETag` is
    of this page.

    Args:
        limit (int | Unset):
        after (str | Unset):
        order (ListOrder | Unset): The order of a list.
        status (JobStatus | Unset): Where a job stands; `succeeded`, `failed` and `cancelled` are
            final.
        kind (JobKind | Unset): What a job makes.
        objective (str | Unset):
        model (str | Unset):
        forked_from (str | Unset):
        q (str | Unset):
        created_after (int | Unset):
        created_before (int | Unset):
        metadatakey (str | Unset):
        if_none_match (str | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Any | JobList | Problem]
     """

    kwargs = _get_kwargs(
        limit=limit,
after=after,
order=order,
status=status,
kind=kind,
objective=objective,
model=model,
forked_from=forked_from,
q=q,
created_after=created_after,
created_before=created_before,
metadatakey=metadatakey,
if_none_match=if_none_match,

    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)

def sync(
    *,
    client: AuthenticatedClient | Client,
    limit: int | Unset = UNSET,
    after: str | Unset = UNSET,
    order: ListOrder | Unset = UNSET,
    status: JobStatus | Unset = UNSET,
    kind: JobKind | Unset = UNSET,
    objective: str | Unset = UNSET,
    model: str | Unset = UNSET,
    forked_from: str | Unset = UNSET,
    q: str | Unset = UNSET,
    created_after: int | Unset = UNSET,
    created_before: int | Unset = UNSET,
    metadatakey: str | Unset = UNSET,
    if_none_match: str | Unset = UNSET,

) -> Any | JobList | Problem | None:
    """ List jobs

     Jobs that meet all that is asked for. A job in a list comes without `result.report`, which may be
    long. The `ETag` is
    of this page.

    Args:
        limit (int | Unset):
        after (str | Unset):
        order (ListOrder | Unset): The order of a list.
        status (JobStatus | Unset): Where a job stands; `succeeded`, `failed` and `cancelled` are
            final.
        kind (JobKind | Unset): What a job makes.
        objective (str | Unset):
        model (str | Unset):
        forked_from (str | Unset):
        q (str | Unset):
        created_after (int | Unset):
        created_before (int | Unset):
        metadatakey (str | Unset):
        if_none_match (str | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Any | JobList | Problem
     """

    return sync_detailed(
        client=client,
limit=limit,
after=after,
order=order,
status=status,
kind=kind,
objective=objective,
model=model,
forked_from=forked_from,
q=q,
created_after=created_after,
created_before=created_before,
metadatakey=metadatakey,
if_none_match=if_none_match,

    ).parsed

async def asyncio_detailed(
    *,
    client: AuthenticatedClient | Client,
    limit: int | Unset = UNSET,
    after: str | Unset = UNSET,
    order: ListOrder | Unset = UNSET,
    status: JobStatus | Unset = UNSET,
    kind: JobKind | Unset = UNSET,
    objective: str | Unset = UNSET,
    model: str | Unset = UNSET,
    forked_from: str | Unset = UNSET,
    q: str | Unset = UNSET,
    created_after: int | Unset = UNSET,
    created_before: int | Unset = UNSET,
    metadatakey: str | Unset = UNSET,
    if_none_match: str | Unset = UNSET,

) -> Response[Any | JobList | Problem]:
    """ List jobs

     Jobs that meet all that is asked for. A job in a list comes without `result.report`, which may be
    long. The `ETag` is
    of this page.

    Args:
        limit (int | Unset):
        after (str | Unset):
        order (ListOrder | Unset): The order of a list.
        status (JobStatus | Unset): Where a job stands; `succeeded`, `failed` and `cancelled` are
            final.
        kind (JobKind | Unset): What a job makes.
        objective (str | Unset):
        model (str | Unset):
        forked_from (str | Unset):
        q (str | Unset):
        created_after (int | Unset):
        created_before (int | Unset):
        metadatakey (str | Unset):
        if_none_match (str | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Any | JobList | Problem]
     """

    kwargs = _get_kwargs(
        limit=limit,
after=after,
order=order,
status=status,
kind=kind,
objective=objective,
model=model,
forked_from=forked_from,
q=q,
created_after=created_after,
created_before=created_before,
metadatakey=metadatakey,
if_none_match=if_none_match,

    )

    response = await client.get_async_httpx_client().request(
        **kwargs
    )

    return _build_response(client=client, response=response)

async def asyncio(
    *,
    client: AuthenticatedClient | Client,
    limit: int | Unset = UNSET,
    after: str | Unset = UNSET,
    order: ListOrder | Unset = UNSET,
    status: JobStatus | Unset = UNSET,
    kind: JobKind | Unset = UNSET,
    objective: str | Unset = UNSET,
    model: str | Unset = UNSET,
    forked_from: str | Unset = UNSET,
    q: str | Unset = UNSET,
    created_after: int | Unset = UNSET,
    created_before: int | Unset = UNSET,
    metadatakey: str | Unset = UNSET,
    if_none_match: str | Unset = UNSET,

) -> Any | JobList | Problem | None:
    """ List jobs

     Jobs that meet all that is asked for. A job in a list comes without `result.report`, which may be
    long. The `ETag` is
    of this page.

    Args:
        limit (int | Unset):
        after (str | Unset):
        order (ListOrder | Unset): The order of a list.
        status (JobStatus | Unset): Where a job stands; `succeeded`, `failed` and `cancelled` are
            final.
        kind (JobKind | Unset): What a job makes.
        objective (str | Unset):
        model (str | Unset):
        forked_from (str | Unset):
        q (str | Unset):
        created_after (int | Unset):
        created_before (int | Unset):
        metadatakey (str | Unset):
        if_none_match (str | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Any | JobList | Problem
     """

    return (await asyncio_detailed(
        client=client,
limit=limit,
after=after,
order=order,
status=status,
kind=kind,
objective=objective,
model=model,
forked_from=forked_from,
q=q,
created_after=created_after,
created_before=created_before,
metadatakey=metadatakey,
if_none_match=if_none_match,

    )).parsed
