from http import HTTPStatus
from typing import Any, cast
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...types import Response, UNSET
from ... import errors

from ...models.dataset_dry_run import DatasetDryRun
from ...models.dataset_preview import DatasetPreview
from ...models.dataset_version import DatasetVersion
from ...models.problem import Problem
from ...types import File, FileTypes
from ...types import UNSET, Unset
from io import BytesIO
from typing import cast

def _get_kwargs(
    id: str,
    *,
    body: File | Unset = UNSET,
    source: str | Unset = UNSET,
    form: str | Unset = UNSET,
    filename: str | Unset = UNSET,
    layout: str | Unset = UNSET,
    map_: str | Unset = UNSET,
    prompt_column: str | Unset = UNSET,
    answer_column: str | Unset = UNSET,
    completion_column: str | Unset = UNSET,
    split: str | Unset = UNSET,
    dry_run: DatasetDryRun | Unset = UNSET,

) -> dict[str, Any]:
    headers: dict[str, Any] = {}

    params: dict[str, Any] = {}

    params["source"] = source

    params["form"] = form

    params["filename"] = filename

    params["layout"] = layout

    params["map"] = map_

    params["prompt_column"] = prompt_column

    params["answer_column"] = answer_column

    params["completion_column"] = completion_column

    params["split"] = split

    json_dry_run: str | Unset = UNSET
    if not isinstance(dry_run, Unset):
        json_dry_run = dry_run.value

    params["dry_run"] = json_dry_run

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/v1/datasets/{id}/versions".format(id=quote(str(id), safe=""),),
        "params": params,
    }

    if not isinstance(body, Unset):
        _kwargs["content"] = body.payload
    headers["Content-Type"] = "application/jsonl"

    _kwargs["headers"] = headers
    return _kwargs

def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> DatasetPreview | DatasetVersion | Problem | None:
    if response.status_code == 200:
        response_200 = DatasetPreview.from_dict(response.json())

        return response_200

    if response.status_code == 201:
        response_201 = DatasetVersion.from_dict(response.json())

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

def _build_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Response[DatasetPreview | DatasetVersion | Problem]:
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
    body: File | Unset = UNSET,
    source: str | Unset = UNSET,
    form: str | Unset = UNSET,
    filename: str | Unset = UNSET,
    layout: str | Unset = UNSET,
    map_: str | Unset = UNSET,
    prompt_column: str | Unset = UNSET,
    answer_column: str | Unset = UNSET,
    completion_column: str | Unset = UNSET,
    split: str | Unset = UNSET,
    dry_run: DatasetDryRun | Unset = UNSET,

) -> Response[DatasetPreview | DatasetVersion | Problem]:
    """ Upload a new version of a data set

     Jobs that named the data set keep the version they were submitted with; later ones get this one.
    Forms, layouts and maps are
    those of a new data set.

    Args:
        id (str):
        source (str | Unset):
        form (str | Unset):
        filename (str | Unset):
        layout (str | Unset):
        map_ (str | Unset):
        prompt_column (str | Unset):
        answer_column (str | Unset):
        completion_column (str | Unset):
        split (str | Unset):
        dry_run (DatasetDryRun | Unset): What is done instead of storing.
        body (File | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[DatasetPreview | DatasetVersion | Problem]
     """

    kwargs = _get_kwargs(
        id=id,
body=body,
source=source,
form=form,
filename=filename,
layout=layout,
map_=map_,
prompt_column=prompt_column,
answer_column=answer_column,
completion_column=completion_column,
split=split,
dry_run=dry_run,

    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)

def sync(
    id: str,
    *,
    client: AuthenticatedClient | Client,
    body: File | Unset = UNSET,
    source: str | Unset = UNSET,
    form: str | Unset = UNSET,
    filename: str | Unset = UNSET,
    layout: str | Unset = UNSET,
    map_: str | Unset = UNSET,
    prompt_column: str | Unset = UNSET,
    answer_column: str | Unset = UNSET,
    completion_column: str | Unset = UNSET,
    split: str | Unset = UNSET,
    dry_run: DatasetDryRun | Unset = UNSET,

) -> DatasetPreview | DatasetVersion | Problem | None:
    """ Upload a new version of a data set

     Jobs that named the data set keep the version they were submitted with; later ones get this one.
    Forms, layouts and maps are
    those of a new data set.

    Args:
        id (str):
        source (str | Unset):
        form (str | Unset):
        filename (str | Unset):
        layout (str | Unset):
        map_ (str | Unset):
        prompt_column (str | Unset):
        answer_column (str | Unset):
        completion_column (str | Unset):
        split (str | Unset):
        dry_run (DatasetDryRun | Unset): What is done instead of storing.
        body (File | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        DatasetPreview | DatasetVersion | Problem
     """

    return sync_detailed(
        id=id,
client=client,
body=body,
source=source,
form=form,
filename=filename,
layout=layout,
map_=map_,
prompt_column=prompt_column,
answer_column=answer_column,
completion_column=completion_column,
split=split,
dry_run=dry_run,

    ).parsed

async def asyncio_detailed(
    id: str,
    *,
    client: AuthenticatedClient | Client,
    body: File | Unset = UNSET,
    source: str | Unset = UNSET,
    form: str | Unset = UNSET,
    filename: str | Unset = UNSET,
    layout: str | Unset = UNSET,
    map_: str | Unset = UNSET,
    prompt_column: str | Unset = UNSET,
    answer_column: str | Unset = UNSET,
    completion_column: str | Unset = UNSET,
    split: str | Unset = UNSET,
    dry_run: DatasetDryRun | Unset = UNSET,

) -> Response[DatasetPreview | DatasetVersion | Problem]:
    """ Upload a new version of a data set

     Jobs that named the data set keep the version they were submitted with; later ones get this one.
    Forms, layouts and maps are
    those of a new data set.

    Args:
        id (str):
        source (str | Unset):
        form (str | Unset):
        filename (str | Unset):
        layout (str | Unset):
        map_ (str | Unset):
        prompt_column (str | Unset):
        answer_column (str | Unset):
        completion_column (str | Unset):
        split (str | Unset):
        dry_run (DatasetDryRun | Unset): What is done instead of storing.
        body (File | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[DatasetPreview | DatasetVersion | Problem]
     """

    kwargs = _get_kwargs(
        id=id,
body=body,
source=source,
form=form,
filename=filename,
layout=layout,
map_=map_,
prompt_column=prompt_column,
answer_column=answer_column,
completion_column=completion_column,
split=split,
dry_run=dry_run,

    )

    response = await client.get_async_httpx_client().request(
        **kwargs
    )

    return _build_response(client=client, response=response)

async def asyncio(
    id: str,
    *,
    client: AuthenticatedClient | Client,
    body: File | Unset = UNSET,
    source: str | Unset = UNSET,
    form: str | Unset = UNSET,
    filename: str | Unset = UNSET,
    layout: str | Unset = UNSET,
    map_: str | Unset = UNSET,
    prompt_column: str | Unset = UNSET,
    answer_column: str | Unset = UNSET,
    completion_column: str | Unset = UNSET,
    split: str | Unset = UNSET,
    dry_run: DatasetDryRun | Unset = UNSET,

) -> DatasetPreview | DatasetVersion | Problem | None:
    """ Upload a new version of a data set

     Jobs that named the data set keep the version they were submitted with; later ones get this one.
    Forms, layouts and maps are
    those of a new data set.

    Args:
        id (str):
        source (str | Unset):
        form (str | Unset):
        filename (str | Unset):
        layout (str | Unset):
        map_ (str | Unset):
        prompt_column (str | Unset):
        answer_column (str | Unset):
        completion_column (str | Unset):
        split (str | Unset):
        dry_run (DatasetDryRun | Unset): What is done instead of storing.
        body (File | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        DatasetPreview | DatasetVersion | Problem
     """

    return (await asyncio_detailed(
        id=id,
client=client,
body=body,
source=source,
form=form,
filename=filename,
layout=layout,
map_=map_,
prompt_column=prompt_column,
answer_column=answer_column,
completion_column=completion_column,
split=split,
dry_run=dry_run,

    )).parsed
