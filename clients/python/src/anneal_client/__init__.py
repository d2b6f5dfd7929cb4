"""A client of Anneal. `Client` is for notebooks and scripts: `Client().jobs.create(...).wait()`. `anneal_client.generated` has a function for every operation and a class for every schema; here
is what a generator cannot write: errors as exceptions, the event stream, the resumable download."""

from ._download import DigestMismatch, download_checkpoint
from ._events import JobEvent, final_status, follow
from ._http import ApiError, ConnectionLost, connect, unwrap
from ._jobs import Client, Job, JobFailed, Metrics

__all__ = [
    "ApiError",
    "Client",
    "ConnectionLost",
    "DigestMismatch",
    "Job",
    "JobEvent",
    "JobFailed",
    "Metrics",
    "connect",
    "download_checkpoint",
    "final_status",
    "follow",
    "unwrap",
]
