from http import HTTPStatus
from typing import Any, cast
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...types import Response, UNSET
from ... import errors

from ...models.device_report import DeviceReport
from ...models.device_state import DeviceState
from ...models.problem import Problem
from typing import cast

def _get_kwargs(
    host: str,
    device: str,
    *,
    body: DeviceReport,

) -> dict[str, Any]:
    headers: dict[str, Any] = {}

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/v1/agent/hosts/{host}/devices/{device}".format(host=quote(str(host), safe=""),device=quote(str(device), safe=""),),
    }

    _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return _kwargs

def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> DeviceState | Problem | None:
    if response.status_code == 200:
        response_200 = DeviceState.from_dict(response.json())

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

def _build_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Response[DeviceState | Problem]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )

def sync_detailed(
    host: str,
    device: str,
    *,
    client: AuthenticatedClient | Client,
    body: DeviceReport,

) -> Response[DeviceState | Problem]:
    """ Tell how a device is

     The answer tells how the server sees it: a `faulted` device takes no jobs until a check finds it
    well.

    Args:
        host (str):
        device (str):
        body (DeviceReport): What an agent has seen of a device.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[DeviceState | Problem]
     """

    kwargs = _get_kwargs(
        host=host,
device=device,
body=body,

    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)

def sync(
    host: str,
    device: str,
    *,
    client: AuthenticatedClient | Client,
    body: DeviceReport,

) -> DeviceState | Problem | None:
    """ Tell how a device is

     The answer tells how the server sees it: a `faulted` device takes no jobs until a check finds it
    well.

    Args:
        host (str):
        device (str):
        body (DeviceReport): What an agent has seen of a device.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        DeviceState | Problem
     """

    return sync_detailed(
        host=host,
device=device,
client=client,
body=body,

    ).parsed

async def asyncio_detailed(
    host: str,
    device: str,
    *,
    client: AuthenticatedClient | Client,
    body: DeviceReport,

) -> Response[DeviceState | Problem]:
    """ Tell how a device is

     The answer tells how the server sees it: a `faulted` device takes no jobs until a check finds it
    well.

    Args:
        host (str):
        device (str):
        body (DeviceReport): What an agent has seen of a device.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[DeviceState | Problem]
     """

    kwargs = _get_kwargs(
        host=host,
device=device,
body=body,

    )

    response = await client.get_async_httpx_client().request(
        **kwargs
    )

    return _build_response(client=client, response=response)

async def asyncio(
    host: str,
    device: str,
    *,
    client: AuthenticatedClient | Client,
    body: DeviceReport,

) -> DeviceState | Problem | None:
    """ Tell how a device is

     The answer tells how the server sees it: a `faulted` device takes no jobs until a check finds it
    well.

    Args:
        host (str):
        device (str):
        body (DeviceReport): What an agent has seen of a device.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        DeviceState | Problem
     """

    return (await asyncio_detailed(
        host=host,
device=device,
client=client,
body=body,

    )).parsed
