from http import HTTPStatus
from typing import Any, cast
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...types import Response, UNSET
from ... import errors

from ...models.job_rollout_list import JobRolloutList
from ...models.problem import Problem
from ...types import UNSET, Unset
from typing import cast

def _get_kwargs(
    id: str,
    *,
    after: str | Unset = UNSET,
    limit: int | Unset = UNSET,
    sort: str | Unset = UNSET,
    step: int | Unset = UNSET,
    max_step: int | Unset = UNSET,
    prompt: int | Unset = UNSET,
    min_reward: float | Unset = UNSET,
    max_reward: float | Unset = UNSET,
    q: str | Unset = UNSET,
    status: str | Unset = UNSET,
    finish: str | Unset = UNSET,
    group: str | Unset = UNSET,
    mixed_groups: bool | Unset = UNSET,
    light: bool | Unset = UNSET,

) -> dict[str, Any]:

    params: dict[str, Any] = {}

    params["after"] = after

    params["limit"] = limit

    params["sort"] = sort

    params["step"] = step

    params["max_step"] = max_step

    params["prompt"] = prompt

    params["min_reward"] = min_reward

    params["max_reward"] = max_reward

    params["q"] = q

    params["status"] = status

    params["finish"] = finish

    params["group"] = group

    params["mixed_groups"] = mixed_groups

    params["light"] = light

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/v1/jobs/{id}/rollouts".format(id=quote(str(id), safe=""),),
        "params": params,
    }

    return _kwargs

def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> JobRolloutList | Problem | None:
    if response.status_code == 200:
        response_200 = JobRolloutList.from_dict(response.json())

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

def _build_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Response[JobRolloutList | Problem]:
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
    after: str | Unset = UNSET,
    limit: int | Unset = UNSET,
    sort: str | Unset = UNSET,
    step: int | Unset = UNSET,
    max_step: int | Unset = UNSET,
    prompt: int | Unset = UNSET,
    min_reward: float | Unset = UNSET,
    max_reward: float | Unset = UNSET,
    q: str | Unset = UNSET,
    status: str | Unset = UNSET,
    finish: str | Unset = UNSET,
    group: str | Unset = UNSET,
    mixed_groups: bool | Unset = UNSET,
    light: bool | Unset = UNSET,

) -> Response[JobRolloutList | Problem]:
    """ Browse the completions that a job samples

     The newest step first, also while the job runs. All completions are there for jobs that keep them,
    which training jobs
    do with `"rollouts": {"keep": true}`, and rollout sets always. Of other training jobs there is a
    sample: 64 completions
    of each step, or `rollouts.sample`, as far as 256 MiB and 1024 rounds go, sparser where it is old.
    What a step made of
    its completions shows in it some seconds later. `last_id` is the `after` of the next page; a page
    may be shorter than
    asked for when completions are long.

    Args:
        id (str):
        after (str | Unset):
        limit (int | Unset):
        sort (str | Unset):
        step (int | Unset):
        max_step (int | Unset):
        prompt (int | Unset):
        min_reward (float | Unset):
        max_reward (float | Unset):
        q (str | Unset):
        status (str | Unset):
        finish (str | Unset):
        group (str | Unset):
        mixed_groups (bool | Unset):
        light (bool | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[JobRolloutList | Problem]
     """

    kwargs = _get_kwargs(
        id=id,
after=after,
limit=limit,
sort=sort,
step=step,
max_step=max_step,
prompt=prompt,
min_reward=min_reward,
max_reward=max_reward,
q=q,
status=status,
finish=finish,
group=group,
mixed_groups=mixed_groups,
light=light,

    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)

def sync(
    id: str,
    *,
    client: AuthenticatedClient | Client,
    after: str | Unset = UNSET,
    limit: int | Unset = UNSET,
    sort: str | Unset = UNSET,
    step: int | Unset = UNSET,
    max_step: int | Unset = UNSET,
    prompt: int | Unset = UNSET,
    min_reward: float | Unset = UNSET,
    max_reward: float | Unset = UNSET,
    q: str | Unset = UNSET,
    status: str | Unset = UNSET,
    finish: str | Unset = UNSET,
    group: str | Unset = UNSET,
    mixed_groups: bool | Unset = UNSET,
    light: bool | Unset = UNSET,

) -> JobRolloutList | Problem | None:
    """ Browse the completions that a job samples

     The newest step first, also while the job runs. All completions are there for jobs that keep them,
    which training jobs
    do with `"rollouts": {"keep": true}`, and rollout sets always. Of other training jobs there is a
    sample: 64 completions
    of each step, or `rollouts.sample`, as far as 256 MiB and 1024 rounds go, sparser where it is old.
    What a step made of
    its completions shows in it some seconds later. `last_id` is the `after` of the next page; a page
    may be shorter than
    asked for when completions are long.

    Args:
        id (str):
        after (str | Unset):
        limit (int | Unset):
        sort (str | Unset):
        step (int | Unset):
        max_step (int | Unset):
        prompt (int | Unset):
        min_reward (float | Unset):
        max_reward (float | Unset):
        q (str | Unset):
        status (str | Unset):
        finish (str | Unset):
        group (str | Unset):
        mixed_groups (bool | Unset):
        light (bool | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        JobRolloutList | Problem
     """

    return sync_detailed(
        id=id,
client=client,
after=after,
limit=limit,
sort=sort,
step=step,
max_step=max_step,
prompt=prompt,
min_reward=min_reward,
max_reward=max_reward,
q=q,
status=status,
finish=finish,
group=group,
mixed_groups=mixed_groups,
light=light,

    ).parsed

async def asyncio_detailed(
    id: str,
    *,
    client: AuthenticatedClient | Client,
    after: str | Unset = UNSET,
    limit: int | Unset = UNSET,
    sort: str | Unset = UNSET,
    step: int | Unset = UNSET,
    max_step: int | Unset = UNSET,
    prompt: int | Unset = UNSET,
    min_reward: float | Unset = UNSET,
    max_reward: float | Unset = UNSET,
    q: str | Unset = UNSET,
    status: str | Unset = UNSET,
    finish: str | Unset = UNSET,
    group: str | Unset = UNSET,
    mixed_groups: bool | Unset = UNSET,
    light: bool | Unset = UNSET,

) -> Response[JobRolloutList | Problem]:
    """ Browse the completions that a job samples

     The newest step first, also while the job runs. All completions are there for jobs that keep them,
    which training jobs
    do with `"rollouts": {"keep": true}`, and rollout sets always. Of other training jobs there is a
    sample: 64 completions
    of each step, or `rollouts.sample`, as far as 256 MiB and 1024 rounds go, sparser where it is old.
    What a step made of
    its completions shows in it some seconds later. `last_id` is the `after` of the next page; a page
    may be shorter than
    asked for when completions are long.

    Args:
        id (str):
        after (str | Unset):
        limit (int | Unset):
        sort (str | Unset):
        step (int | Unset):
        max_step (int | Unset):
        prompt (int | Unset):
        min_reward (float | Unset):
        max_reward (float | Unset):
        q (str | Unset):
        status (str | Unset):
        finish (str | Unset):
        group (str | Unset):
        mixed_groups (bool | Unset):
        light (bool | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[JobRolloutList | Problem]
     """

    kwargs = _get_kwargs(
        id=id,
after=after,
limit=limit,
sort=sort,
step=step,
max_step=max_step,
prompt=prompt,
min_reward=min_reward,
max_reward=max_reward,
q=q,
status=status,
finish=finish,
group=group,
mixed_groups=mixed_groups,
light=light,

    )

    response = await client.get_async_httpx_client().request(
        **kwargs
    )

    return _build_response(client=client, response=response)

async def asyncio(
    id: str,
    *,
    client: AuthenticatedClient | Client,
    after: str | Unset = UNSET,
    limit: int | Unset = UNSET,
    sort: str | Unset = UNSET,
    step: int | Unset = UNSET,
    max_step: int | Unset = UNSET,
    prompt: int | Unset = UNSET,
    min_reward: float | Unset = UNSET,
    max_reward: float | Unset = UNSET,
    q: str | Unset = UNSET,
    status: str | Unset = UNSET,
    finish: str | Unset = UNSET,
    group: str | Unset = UNSET,
    mixed_groups: bool | Unset = UNSET,
    light: bool | Unset = UNSET,

) -> JobRolloutList | Problem | None:
    """ Browse the completions that a job samples

     The newest step first, also while the job runs. All completions are there for jobs that keep them,
    which training jobs
    do with `"rollouts": {"keep": true}`, and rollout sets always. Of other training jobs there is a
    sample: 64 completions
    of each step, or `rollouts.sample`, as far as 256 MiB and 1024 rounds go, sparser where it is old.
    What a step made of
    its completions shows in it some seconds later. `last_id` is the `after` of the next page; a page
    may be shorter than
    asked for when completions are long.

    Args:
        id (str):
        after (str | Unset):
        limit (int | Unset):
        sort (str | Unset):
        step (int | Unset):
        max_step (int | Unset):
        prompt (int | Unset):
        min_reward (float | Unset):
        max_reward (float | Unset):
        q (str | Unset):
        status (str | Unset):
        finish (str | Unset):
        group (str | Unset):
        mixed_groups (bool | Unset):
        light (bool | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        JobRolloutList | Problem
     """

    return (await asyncio_detailed(
        id=id,
client=client,
after=after,
limit=limit,
sort=sort,
step=step,
max_step=max_step,
prompt=prompt,
min_reward=min_reward,
max_reward=max_reward,
q=q,
status=status,
finish=finish,
group=group,
mixed_groups=mixed_groups,
light=light,

    )).parsed
