"""A client of Anneal. `anneal_client.generated` has a function for every operation and a class for every schema; here
is what a generator cannot write: errors as exceptions, the event stream, the resumable download."""

from ._download import DigestMismatch, download_checkpoint
from ._events import JobEvent, final_status, follow
from ._http import ApiError, ConnectionLost, connect, unwrap

__all__ = [
    "ApiError",
    "ConnectionLost",
    "DigestMismatch",
    "JobEvent",
    "connect",
    "download_checkpoint",
    "final_status",
    "follow",
    "unwrap",
]
