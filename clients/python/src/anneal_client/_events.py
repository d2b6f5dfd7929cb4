"""A job's events, from the first to the last, whatever happens to the connection."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator
from urllib.parse import quote

import httpx

from ._http import TRANSIENT, Patience, refused
from .generated import AuthenticatedClient, Client
from .generated.models import (
    CheckpointEvent,
    EvaluationEvent,
    JobStatus,
    LogEvent,
    MetricsEvent,
    PhaseEvent,
    ProgressEvent,
    RolloutSetEvent,
    StatusEvent,
)

#: The server sends a comment every 15 seconds; after this long without a byte the connection is dead.
SILENCE_SECONDS = 45.0

#: An event of a job; its class says what it tells.
JobEvent = (
    StatusEvent
    | PhaseEvent
    | ProgressEvent
    | MetricsEvent
    | EvaluationEvent
    | CheckpointEvent
    | RolloutSetEvent
    | LogEvent
)

_TYPES: dict[str, type[JobEvent]] = {
    "status": StatusEvent,
    "phase": PhaseEvent,
    "progress": ProgressEvent,
    "metrics": MetricsEvent,
    "evaluation": EvaluationEvent,
    "checkpoint": CheckpointEvent,
    "rollout_set": RolloutSetEvent,
    "log": LogEvent,
}

_FINAL = frozenset({JobStatus.SUCCEEDED, JobStatus.FAILED, JobStatus.CANCELLED})


def final_status(event: JobEvent) -> JobStatus | None:
    """The status that a job has ended with, if this is its last event."""
    if isinstance(event, StatusEvent) and event.data.status in _FINAL:
        return event.data.status
    return None


def follow(
    client: Client | AuthenticatedClient, job: str, *, after: int = 0, retries: int = 10
) -> Generator[JobEvent, None, JobStatus | None]:
    """Yields every event behind `after` once and in order, and ends with the job; the generator returns the final
    status (none when the job had ended and there was nothing more to tell).

    A broken stream is taken up again behind the last event. `retries` bounds attempts in a row without a new event;
    then `ConnectionLost` is raised. An error of the API is raised as `ApiError`. Events of types that only a newer
    server knows are passed over."""
    http = client.get_httpx_client()
    patience = Patience(retries)
    timeout = httpx.Timeout(30.0, read=SILENCE_SECONDS)
    url = f"/v1/jobs/{quote(job, safe='')}/events"
    while True:
        retry_after = None
        headers = {"Accept": "text/event-stream", "Last-Event-ID": str(after)}
        try:
            with http.stream("GET", url, headers=headers, timeout=timeout) as response:
                if response.status_code == 204:
                    return None
                if response.status_code != 200:
                    error = refused(response)
                    if response.status_code not in TRANSIENT:
                        raise error
                    retry_after = response.headers.get("retry-after")
                    raise httpx.TransportError(str(error))
                for data in _data(response.iter_lines()):
                    received = json.loads(data)
                    seq = received["seq"]
                    if seq != after + 1:
                        if seq <= after:
                            continue
                        raise httpx.TransportError(f"event {seq} came after event {after}")
                    after = seq
                    patience.progress()
                    known = _TYPES.get(received["type"])
                    if known is None:
                        continue
                    event = known.from_dict(received)
                    yield event
                    status = final_status(event)
                    if status is not None:
                        return status
            raise httpx.TransportError("the stream ended before the job")
        except httpx.TransportError as error:
            patience.wait(error, retry_after)


def _data(lines: Iterator[str]) -> Iterator[str]:
    """The data of every complete server-sent event; one that is cut off is left out."""
    data: list[str] = []
    for line in lines:
        if line.startswith("data:"):
            data.append(line[5:].removeprefix(" "))
        elif not line and data:
            yield "\n".join(data)
            data = []
