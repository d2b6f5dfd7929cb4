from http import HTTPStatus
from typing import Any, cast
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...types import Response, UNSET
from ... import errors

from ...models.job_metrics import JobMetrics
from ...models.metrics_format import MetricsFormat
from ...models.problem import Problem
from ...types import UNSET, Unset
from typing import cast

def _get_kwargs(
    id: str,
    *,
    keys: str | Unset = UNSET,
    from_step: int | Unset = UNSET,
    to_step: int | Unset = UNSET,
    points: int | Unset = UNSET,
    format_: MetricsFormat | Unset = UNSET,
    head: bool | Unset = UNSET,

) -> dict[str, Any]:

    params: dict[str, Any] = {}

    params["keys"] = keys

    params["from_step"] = from_step

    params["to_step"] = to_step

    params["points"] = points

    json_format_: str | Unset = UNSET
    if not isinstance(format_, Unset):
        json_format_ = format_.value

    params["format"] = json_format_

    params["head"] = head

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/v1/jobs/{id}/metrics".format(id=quote(str(id), safe=""),),
        "params": params,
    }

    return _kwargs

def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> JobMetrics | Problem | None:
    if response.status_code == 200:
        response_200 = JobMetrics.from_dict(response.json())

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

def _build_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Response[JobMetrics | Problem]:
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
    keys: str | Unset = UNSET,
    from_step: int | Unset = UNSET,
    to_step: int | Unset = UNSET,
    points: int | Unset = UNSET,
    format_: MetricsFormat | Unset = UNSET,
    head: bool | Unset = UNSET,

) -> Response[JobMetrics | Problem]:
    """ Get a job's metrics

     As CSV there is one row per step and one column per metric, empty where a step lacks the metric. A
    metric whose
    points stand for several values has the columns `NAME` (their mean), `NAME:min`, `NAME:max`,
    `NAME:last` and
    `NAME:count`. In Parquet there is a row for each point of each metric: `step`, `name`, `value`, and
    `min`, `max`, `last` and
    `count` where it stands for several values. For TensorBoard the means of points are written; the
    wall-clock time of all is the job's start.

    Args:
        id (str):
        keys (str | Unset):
        from_step (int | Unset):
        to_step (int | Unset):
        points (int | Unset):
        format_ (MetricsFormat | Unset):
        head (bool | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[JobMetrics | Problem]
     """

    kwargs = _get_kwargs(
        id=id,
keys=keys,
from_step=from_step,
to_step=to_step,
points=points,
format_=format_,
head=head,

    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)

def sync(
    id: str,
    *,
    client: AuthenticatedClient | Client,
    keys: str | Unset = UNSET,
    from_step: int | Unset = UNSET,
    to_step: int | Unset = UNSET,
    points: int | Unset = UNSET,
    format_: MetricsFormat | Unset = UNSET,
    head: bool | Unset = UNSET,

) -> JobMetrics | Problem | None:
    """ Get a job's metrics

     As CSV there is one row per step and one column per metric, empty where a step lacks the metric. A
    metric whose
    points stand for several values has the columns `NAME` (their mean), `NAME:min`, `NAME:max`,
    `NAME:last` and
    `NAME:count`. In Parquet there is a row for each point of each metric: `step`, `name`, `value`, and
    `min`, `max`, `last` and
    `count` where it stands for several values. For TensorBoard the means of points are written; the
    wall-clock time of all is the job's start.

    Args:
        id (str):
        keys (str | Unset):
        from_step (int | Unset):
        to_step (int | Unset):
        points (int | Unset):
        format_ (MetricsFormat | Unset):
        head (bool | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        JobMetrics | Problem
     """

    return sync_detailed(
        id=id,
client=client,
keys=keys,
from_step=from_step,
to_step=to_step,
points=points,
format_=format_,
head=head,

    ).parsed

async def asyncio_detailed(
    id: str,
    *,
    client: AuthenticatedClient | Client,
    keys: str | Unset = UNSET,
    from_step: int | Unset = UNSET,
    to_step: int | Unset = UNSET,
    points: int | Unset = UNSET,
    format_: MetricsFormat | Unset = UNSET,
    head: bool | Unset = UNSET,

) -> Response[JobMetrics | Problem]:
    """ Get a job's metrics

     As CSV there is one row per step and one column per metric, empty where a step lacks the metric. A
    metric whose
    points stand for several values has the columns `NAME` (their mean), `NAME:min`, `NAME:max`,
    `NAME:last` and
    `NAME:count`. In Parquet there is a row for each point of each metric: `step`, `name`, `value`, and
    `min`, `max`, `last` and
    `count` where it stands for several values. For TensorBoard the means of points are written; the
    wall-clock time of all is the job's start.

    Args:
        id (str):
        keys (str | Unset):
        from_step (int | Unset):
        to_step (int | Unset):
        points (int | Unset):
        format_ (MetricsFormat | Unset):
        head (bool | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[JobMetrics | Problem]
     """

    kwargs = _get_kwargs(
        id=id,
keys=keys,
from_step=from_step,
to_step=to_step,
points=points,
format_=format_,
head=head,

    )

    response = await client.get_async_httpx_client().request(
        **kwargs
    )

    return _build_response(client=client, response=response)

async def asyncio(
    id: str,
    *,
    client: AuthenticatedClient | Client,
    keys: str | Unset = UNSET,
    from_step: int | Unset = UNSET,
    to_step: int | Unset = UNSET,
    points: int | Unset = UNSET,
    format_: MetricsFormat | Unset = UNSET,
    head: bool | Unset = UNSET,

) -> JobMetrics | Problem | None:
    """ Get a job's metrics

     As CSV there is one row per step and one column per metric, empty where a step lacks the metric. A
    metric whose
    points stand for several values has the columns `NAME` (their mean), `NAME:min`, `NAME:max`,
    `NAME:last` and
    `NAME:count`. In Parquet there is a row for each point of each metric: `step`, `name`, `value`, and
    `min`, `max`, `last` and
    `count` where it stands for several values. For TensorBoard the means of points are written; the
    wall-clock time of all is the job's start.

    Args:
        id (str):
        keys (str | Unset):
        from_step (int | Unset):
        to_step (int | Unset):
        points (int | Unset):
        format_ (MetricsFormat | Unset):
        head (bool | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        JobMetrics | Problem
     """

    return (await asyncio_detailed(
        id=id,
client=client,
keys=keys,
from_step=from_step,
to_step=to_step,
points=points,
format_=format_,
head=head,

    )).parsed
