from http import HTTPStatus
from typing import Any, cast
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...types import Response, UNSET
from ... import errors

from ...models.audit_verifier import AuditVerifier
from ...models.problem import Problem
from ...models.verifier_audit import VerifierAudit
from typing import cast

def _get_kwargs(
    id: str,
    *,
    body: AuditVerifier,

) -> dict[str, Any]:
    headers: dict[str, Any] = {}

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/v1/verifiers/{id}/audit".format(id=quote(str(id), safe=""),),
    }

    _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return _kwargs

def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Problem | VerifierAudit | None:
    if response.status_code == 200:
        response_200 = VerifierAudit.from_dict(response.json())

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

def _build_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Response[Problem | VerifierAudit]:
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
    body: AuditVerifier,

) -> Response[Problem | VerifierAudit]:
    """ Audit a verifier

     Runs the verifier on a data set's own completions, or where there are none on the reference programs
    of rows of code, or
    on the expected answers as if a model had written nothing else, and says how many of them pass. What
    fails here would
    punish a model for being right. On the first 100 rows it also tries what no model should be rewarded
    for: the answers of
    other rows, nothing, the prompt, many answers at once; texts that are far too long; and the same
    text again. The verdict
    `trusted` or `suspicious` is kept for that configuration and those rows, and a job with
    `"require_audit": true` is
    refused without the first; it takes ten judged rows, or all where there are fewer. Looks at the
    first rows: for ten
    seconds, or, of a verifier that may take longer, for up to two minutes.

    Args:
        id (str):
        body (AuditVerifier): Which rows to audit a verifier with.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Problem | VerifierAudit]
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
    body: AuditVerifier,

) -> Problem | VerifierAudit | None:
    """ Audit a verifier

     Runs the verifier on a data set's own completions, or where there are none on the reference programs
    of rows of code, or
    on the expected answers as if a model had written nothing else, and says how many of them pass. What
    fails here would
    punish a model for being right. On the first 100 rows it also tries what no model should be rewarded
    for: the answers of
    other rows, nothing, the prompt, many answers at once; texts that are far too long; and the same
    text again. The verdict
    `trusted` or `suspicious` is kept for that configuration and those rows, and a job with
    `"require_audit": true` is
    refused without the first; it takes ten judged rows, or all where there are fewer. Looks at the
    first rows: for ten
    seconds, or, of a verifier that may take longer, for up to two minutes.

    Args:
        id (str):
        body (AuditVerifier): Which rows to audit a verifier with.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Problem | VerifierAudit
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
    body: AuditVerifier,

) -> Response[Problem | VerifierAudit]:
    """ Audit a verifier

     Runs the verifier on a data set's own completions, or where there are none on the reference programs
    of rows of code, or
    on the expected answers as if a model had written nothing else, and says how many of them pass. What
    fails here would
    punish a model for being right. On the first 100 rows it also tries what no model should be rewarded
    for: the answers of
    other rows, nothing, the prompt, many answers at once; texts that are far too long; and the same
    text again. The verdict
    `trusted` or `suspicious` is kept for that configuration and those rows, and a job with
    `"require_audit": true` is
    refused without the first; it takes ten judged rows, or all where there are fewer. Looks at the
    first rows: for ten
    seconds, or, of a verifier that may take longer, for up to two minutes.

    Args:
        id (str):
        body (AuditVerifier): Which rows to audit a verifier with.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Problem | VerifierAudit]
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
    body: AuditVerifier,

) -> Problem | VerifierAudit | None:
    """ Audit a verifier

     Runs the verifier on a data set's own completions, or where there are none on the reference programs
    of rows of code, or
    on the expected answers as if a model had written nothing else, and says how many of them pass. What
    fails here would
    punish a model for being right. On the first 100 rows it also tries what no model should be rewarded
    for: the answers of
    other rows, nothing, the prompt, many answers at once; texts that are far too long; and the same
    text again. The verdict
    `trusted` or `suspicious` is kept for that configuration and those rows, and a job with
    `"require_audit": true` is
    refused without the first; it takes ten judged rows, or all where there are fewer. Looks at the
    first rows: for ten
    seconds, or, of a verifier that may take longer, for up to two minutes.

    Args:
        id (str):
        body (AuditVerifier): Which rows to audit a verifier with.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Problem | VerifierAudit
     """

    return (await asyncio_detailed(
        id=id,
client=client,
body=body,

    )).parsed
