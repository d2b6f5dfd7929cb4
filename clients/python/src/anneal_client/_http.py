"""Connections, and what goes wrong with them."""

from __future__ import annotations

import random
import time
from typing import Any, TypeVar

import httpx

from .generated import AuthenticatedClient, Client
from .generated.models import Problem
from .generated.types import Response

T = TypeVar("T")

#: Answers after which the same request may succeed a little later.
TRANSIENT = frozenset({408, 425, 429, 500, 502, 503, 504})


class ApiError(Exception):
    """The server said no. `problem` is what it said, if it said it in the form of the API."""

    def __init__(self, status: int, problem: Problem | None) -> None:
        self.status = status
        self.problem = problem
        detail = problem.detail if problem else "the answer is none of the API's"
        super().__init__(f"{status} {self.code}: {detail}")

    @property
    def code(self) -> str:
        """The stable, machine-readable reason."""
        return self.problem.code if self.problem else "unknown"


class ConnectionLost(Exception):
    """The connection broke again and again without any progress."""


def connect(base_url: str, api_key: str | None = None, timeout: float | None = None) -> Client | AuthenticatedClient:
    """A client for the generated functions and for those of this package.

    An answer may take `timeout` seconds. Where none is given that is five minutes: a server may take as long for the
    audit of a slow verifier, or for a data set from a hub.
    """
    limits = httpx.Timeout(60.0, read=300.0) if timeout is None else httpx.Timeout(timeout)
    if api_key is None:
        return Client(base_url=base_url, timeout=limits)
    return AuthenticatedClient(base_url=base_url, token=api_key, timeout=limits)


def unwrap(response: Response[Any]) -> Any:
    """The answer of a `..._detailed` function; an error answer is raised as an `ApiError`."""
    if response.status_code >= 400 or response.parsed is None:
        raise ApiError(response.status_code, response.parsed if isinstance(response.parsed, Problem) else None)
    return response.parsed


def refused(response: httpx.Response) -> ApiError:
    """An error answer whose body was streamed and is not read yet."""
    response.read()
    try:
        problem = Problem.from_dict(response.json())
    except (ValueError, KeyError, TypeError):
        problem = None
    return ApiError(response.status_code, problem)


class Patience:
    """How long to go on without progress: waits longer and longer, and then gives up."""

    def __init__(self, retries: int, first_wait: float = 0.1, longest_wait: float = 5.0) -> None:
        self.retries, self.first_wait, self.longest_wait = retries, first_wait, longest_wait
        self.failures = 0

    def progress(self) -> None:
        self.failures = 0

    def wait(self, cause: Exception, retry_after: str | None = None) -> None:
        """Waits before the next attempt; raises `ConnectionLost` when there was one too many."""
        self.failures += 1
        if self.failures > self.retries:
            raise ConnectionLost(f"no progress in {self.retries} attempts: {cause}") from cause
        pause = min(self.longest_wait, self.first_wait * 2 ** (self.failures - 1)) * random.uniform(0.5, 1.0)
        if retry_after is not None and retry_after.isdigit():
            pause = max(pause, min(float(retry_after), 60.0))
        time.sleep(pause)
