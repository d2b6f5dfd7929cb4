"""A checkpoint's files, whole and right, whatever happens to the connection."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from urllib.parse import quote

import httpx

from ._http import TRANSIENT, Patience, refused, unwrap
from .generated import AuthenticatedClient, Client
from .generated.api.checkpoints import get_checkpoint_manifest
from .generated.models import CheckpointFile


class DigestMismatch(Exception):
    """What was received is not what the manifest promises; nothing was kept of it."""


def download_checkpoint(
    client: Client | AuthenticatedClient, checkpoint: str, target: str | os.PathLike[str], *, retries: int = 10
) -> list[Path]:
    """Downloads all files of a checkpoint into the folder `target` and checks each against the manifest.

    A file appears under its name only when it is complete and its sha256 is right. What an interrupted download left
    behind, in this process or an earlier one, is continued. `retries` bounds attempts in a row without a new byte."""
    folder = Path(target)
    folder.mkdir(parents=True, exist_ok=True)
    manifest = unwrap(get_checkpoint_manifest.sync_detailed(checkpoint, client=client))
    return [_fetch(client.get_httpx_client(), checkpoint, file, folder, retries) for file in manifest.files]


def _fetch(http: httpx.Client, checkpoint: str, file: CheckpointFile, folder: Path, retries: int) -> Path:
    if file.path in ("", ".", "..") or "/" in file.path or "\\" in file.path:
        raise DigestMismatch(f"the manifest names a file {file.path!r}, which is no plain name")
    final = folder / file.path
    if final.is_file() and _sha256(final) == file.sha256:
        return final
    # The digest in the name keeps parts of different files of the same name apart.
    part = folder / f".{file.path}.{file.sha256[:16]}.part"
    patience = Patience(retries)
    url = f"/v1/checkpoints/{quote(checkpoint, safe='')}/files/{quote(file.path, safe='')}"
    with part.open("ab") as out:
        while out.tell() < file.size:
            before = out.tell()
            try:
                _receive(http, url, file, out)
            except _Interrupted as interruption:
                if out.tell() > before:
                    patience.progress()
                patience.wait(interruption.cause, interruption.retry_after)
        out.flush()
        os.fsync(out.fileno())
        size = out.tell()
    if size > file.size:
        detail = "is longer than the manifest says"
    elif _sha256(part) != file.sha256:
        detail = "has not the sha256 that the manifest lists"
    else:
        part.replace(final)
        return final
    part.unlink()
    raise DigestMismatch(f"{file.path} {detail}")


class _Interrupted(Exception):
    def __init__(self, cause: Exception, retry_after: str | None = None) -> None:
        self.cause, self.retry_after = cause, retry_after


def _receive(http: httpx.Client, url: str, file: CheckpointFile, out) -> None:
    """Appends what is missing, until the end, more than there should be, or an interruption."""
    offset = out.tell()
    headers = {"Accept-Encoding": "identity"}
    if offset:
        headers |= {"Range": f"bytes={offset}-", "If-Range": f'"{file.sha256}"'}
    try:
        with http.stream("GET", url, headers=headers) as response:
            if response.status_code in TRANSIENT:
                raise _Interrupted(refused(response), response.headers.get("retry-after"))
            if response.status_code not in (200, 206):
                raise refused(response)
            if response.status_code == 200 and offset:
                out.truncate(0)
                out.seek(0)
            elif response.status_code == 206:
                if not response.headers.get("content-range", "").startswith(f"bytes {offset}-"):
                    raise _Interrupted(ValueError("the server sent another range than asked for"))
            # As it arrives: chunks of a fixed size would be collected, and lost with a connection that breaks.
            for chunk in response.iter_raw():
                out.write(chunk)
                if out.tell() > file.size:
                    break
    except httpx.TransportError as error:
        raise _Interrupted(error) from error
    # A proxy may end what it got of a cut answer as if it were whole.
    if out.tell() < file.size:
        raise _Interrupted(ValueError("the answer ended before the file"))


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
