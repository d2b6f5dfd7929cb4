from http import HTTPStatus
from typing import Any, cast
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...types import Response, UNSET
from ... import errors

from ...models.problem import Problem
from typing import cast

def _get_kwargs(

) -> dict[str, Any]:

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/metrics",
    }

    return _kwargs

def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Problem | str | None:
    if response.status_code == 200:
        response_200 = response.text
        return response_200

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

def _build_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Response[Problem | str]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )

def sync_detailed(
    *,
    client: AuthenticatedClient | Client,

) -> Response[Problem | str]:
    """ Metrics of this server, for Prometheus

     `anneal_jobs{status}`, `anneal_queue_length`, and for each device
    `anneal_device_memory_total_bytes`,
    `anneal_device_memory_free_bytes`, `anneal_device_status{status}` (1 for the status it has, 0 for
    the others) and
    `anneal_device_faults_total`; `anneal_queue_wait_seconds` of the jobs that began in the last hour
    (quantiles, sum and count)
    and `anneal_queue_oldest_seconds`; `anneal_hosts{status}`, `anneal_launches{launcher,status}`, and
    what agents have had of this
    server since it began: `anneal_agent_renewals_total`, `anneal_agent_claims_total`,
    `anneal_agent_sent_bytes_total` and
    `anneal_agent_received_bytes_total`.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Problem | str]
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

) -> Problem | str | None:
    """ Metrics of this server, for Prometheus

     `anneal_jobs{status}`, `anneal_queue_length`, and for each device
    `anneal_device_memory_total_bytes`,
    `anneal_device_memory_free_bytes`, `anneal_device_status{status}` (1 for the status it has, 0 for
    the others) and
    `anneal_device_faults_total`; `anneal_queue_wait_seconds` of the jobs that began in the last hour
    (quantiles, sum and count)
    and `anneal_queue_oldest_seconds`; `anneal_hosts{status}`, `anneal_launches{launcher,status}`, and
    what agents have had of this
    server since it began: `anneal_agent_renewals_total`, `anneal_agent_claims_total`,
    `anneal_agent_sent_bytes_total` and
    `anneal_agent_received_bytes_total`.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Problem | str
     """

    return sync_detailed(
        client=client,

    ).parsed

async def asyncio_detailed(
    *,
    client: AuthenticatedClient | Client,

) -> Response[Problem | str]:
    """ Metrics of this server, for Prometheus

     `anneal_jobs{status}`, `anneal_queue_length`, and for each device
    `anneal_device_memory_total_bytes`,
    `anneal_device_memory_free_bytes`, `anneal_device_status{status}` (1 for the status it has, 0 for
    the others) and
    `anneal_device_faults_total`; `anneal_queue_wait_seconds` of the jobs that began in the last hour
    (quantiles, sum and count)
    and `anneal_queue_oldest_seconds`; `anneal_hosts{status}`, `anneal_launches{launcher,status}`, and
    what agents have had of this
    server since it began: `anneal_agent_renewals_total`, `anneal_agent_claims_total`,
    `anneal_agent_sent_bytes_total` and
    `anneal_agent_received_bytes_total`.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Problem | str]
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

) -> Problem | str | None:
    """ Metrics of this server, for Prometheus

     `anneal_jobs{status}`, `anneal_queue_length`, and for each device
    `anneal_device_memory_total_bytes`,
    `anneal_device_memory_free_bytes`, `anneal_device_status{status}` (1 for the status it has, 0 for
    the others) and
    `anneal_device_faults_total`; `anneal_queue_wait_seconds` of the jobs that began in the last hour
    (quantiles, sum and count)
    and `anneal_queue_oldest_seconds`; `anneal_hosts{status}`, `anneal_launches{launcher,status}`, and
    what agents have had of this
    server since it began: `anneal_agent_renewals_total`, `anneal_agent_claims_total`,
    `anneal_agent_sent_bytes_total` and
    `anneal_agent_received_bytes_total`.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Problem | str
     """

    return (await asyncio_detailed(
        client=client,

    )).parsed
