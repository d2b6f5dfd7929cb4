"""Jobs as they are used in a notebook or a script: `Client().jobs.create(...)`, `job.wait()`, `job.metrics().to_pandas()`.

Specs are plain dictionaries here, as `curl` would send them; the server says what is wrong with one, field by field."""

from __future__ import annotations

import html
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ._download import download_checkpoint
from ._events import JobEvent, follow
from ._http import ApiError, connect
from .generated.models import Problem

if TYPE_CHECKING:
    import pandas

#: Statuses after which nothing more happens.
ENDED = frozenset({"succeeded", "failed", "cancelled"})


class JobFailed(Exception):
    """A job that was waited for has failed or was cancelled. `job` is how it stands."""

    def __init__(self, job: Job) -> None:
        self.job = job
        failure = job.data.get("failure") or {}
        super().__init__(f"{job.id} has {job.status}" + (f": {failure['code']}: {failure['message']}" if failure else ""))


class Client:
    """A server. Its address is `base_url`, or else `ANNEAL_SERVER`, or this machine's port 8080; the key is `api_key` or
    else `ANNEAL_API_KEY`."""

    def __init__(self, base_url: str | None = None, api_key: str | None = None, timeout: float = 60.0) -> None:
        base_url = base_url or os.environ.get("ANNEAL_SERVER") or "http://127.0.0.1:8080"
        #: For the functions of `anneal_client.generated`.
        self.connection = connect(base_url, api_key or os.environ.get("ANNEAL_API_KEY") or None, timeout)
        self.jobs = Jobs(self)

    def request(self, method: str, path: str, **options: Any) -> Any:
        """The JSON that the server answers; a refusal is an `ApiError`."""
        response = self.connection.get_httpx_client().request(method, path, **options)
        if response.status_code < 400:
            return response.json() if response.content else None
        try:
            problem = Problem.from_dict(response.json())
        except (ValueError, KeyError, TypeError):
            problem = None
        raise ApiError(response.status_code, problem)


class Jobs:
    """The jobs of a server."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def create(self, spec: dict[str, Any] | None = None, *, idempotency_key: str | None = None, **members: Any) -> Job:
        """Submits a job: a whole spec, or its members by name, or both. With an `idempotency_key` the same call makes one
        job however often it is repeated."""
        headers = {"Idempotency-Key": idempotency_key} if idempotency_key else {}
        return Job(self._client, self._client.request("POST", "/v1/jobs", json={**(spec or {}), **members}, headers=headers))

    def preflight(self, spec: dict[str, Any] | None = None, **members: Any) -> dict[str, Any]:
        """What a job would do and need; nothing is made."""
        query = {"dry_run": "preflight"}
        return self._client.request("POST", "/v1/jobs", json={**(spec or {}), **members}, params=query)

    def get(self, job: str) -> Job:
        """A job by its id, its name, `NAME@latest` or `@latest`."""
        return Job(self._client, self._client.request("GET", f"/v1/jobs/{quote(job, safe='')}"))

    def list(self, **filters: Any) -> Iterator[Job]:
        """Jobs, the newest first: `status="running"`, `objective="bolt"`, `q="nightly"`, ..."""
        query = {"limit": 100, **filters}
        while True:
            page = self._client.request("GET", "/v1/jobs", params=query)
            yield from (Job(self._client, data) for data in page["data"])
            if not page["has_more"]:
                return
            query["after"] = page["last_id"]


class Job:
    """A job as it stood when it was last asked for."""

    def __init__(self, client: Client, data: dict[str, Any]) -> None:
        self._client = client
        #: All members, as the API has them.
        self.data = data

    @property
    def id(self) -> str:
        return self.data["id"]

    @property
    def status(self) -> str:
        return self.data["status"]

    @property
    def result(self) -> dict[str, Any] | None:
        """`checkpoint`, `weights_sha256`, `before`, `after`, ... of a job that has succeeded."""
        return self.data["result"]

    def refresh(self) -> Job:
        """Asks for it again."""
        self.data = self._ask("GET", "")
        return self

    def wait(self, timeout: float | None = None) -> Job:
        """Waits for its end; raises `JobFailed` when that is not success, and `TimeoutError` after `timeout` seconds."""
        end = None if timeout is None else time.monotonic() + timeout
        while self.status not in ENDED:
            left = 30.0 if end is None else end - time.monotonic()
            if left <= 0:
                raise TimeoutError(f"{self.id} is {self.status} at step {self.data['step']} of {self.data['steps']}")
            self.data = self._ask("GET", "/wait", params={"timeout": max(1, int(min(left, 30.0)))})
        if self.status != "succeeded":
            raise JobFailed(self)
        return self

    def events(self, after: int = 0) -> Iterator[JobEvent]:
        """Every event once and in order, as it happens, whatever happens to the connection."""
        return follow(self._client.connection, self.id, after=after)

    def watch(self) -> Job:
        """Shows its progress until it ends: a line that is written over in a notebook, else lines."""
        show = _display()
        for event in self.events():
            if event.type_ in ("status", "metrics", "evaluation"):
                show(self.refresh() if event.type_ != "metrics" else self._at(event.to_dict()["data"]["step"]))
        show(self.refresh())
        return self

    def metrics(self, *keys: str, points: int = 10_000) -> Metrics:
        """What was measured, in at most `points` points a metric."""
        query = {"jobs": self.id, "points": points, **({"keys": ",".join(keys)} if keys else {})}
        return Metrics(self._client.request("GET", "/v1/metrics", params=query)["jobs"][0]["tables"])

    def rollouts(self, **filters: Any) -> Iterator[dict[str, Any]]:
        """What it has sampled, the newest step first: `step=40`, `max_reward=0`, `q="carry"`, ..."""
        query = {"limit": 100, **filters}
        while True:
            page = self._ask("GET", "/rollouts", params=query)
            yield from page["data"]
            if not page["has_more"]:
                return
            query["after"] = page["last_id"]

    def diagnoses(self) -> list[dict[str, Any]]:
        """What its metrics show to be wrong, and what would help."""
        return self._ask("GET", "/diagnoses")["data"]

    def fork(self, *patch: dict[str, Any]) -> Job:
        """A copy with changes, as JSON Patch: `{"op": "replace", "path": "/seed", "value": 2}`."""
        return Job(self._client, self._ask("POST", "/fork", json={"patch": list(patch)}))

    def cancel(self) -> Job:
        self.data = self._ask("POST", "/cancel")
        return self

    def download(self, folder: str | Path) -> Path:
        """Fetches the finished model and checks every file against its digest."""
        checkpoint = (self.result or {}).get("checkpoint")
        if not checkpoint:
            raise ValueError(f"{self.id} is {self.status} and has no model")
        download_checkpoint(self._client.connection, checkpoint, folder)
        return Path(folder)

    def _ask(self, method: str, path: str, **options: Any) -> Any:
        return self._client.request(method, f"/v1/jobs/{self.id}{path}", **options)

    def _at(self, step: int) -> Job:
        self.data["step"] = max(self.data["step"], step)
        return self

    def __repr__(self) -> str:
        steps = f", {self.data['step']}/{self.data['steps']}" if self.data["steps"] else ""
        return f"<Job {self.data['name'] or self.id}: {self.status}{steps}{_gain(self.result)}>"

    def _repr_html_(self) -> str:
        bar = ""
        if self.data["steps"]:
            bar = f'<progress max="{self.data["steps"]}" value="{self.data["step"]}"></progress> '
        return f"<div>{bar}{html.escape(repr(self)[1:-1])}</div>"


class Metrics:
    """Series of a job by metric: `metrics["loss"]` is a dictionary from steps to values."""

    def __init__(self, tables: list[dict[str, Any]]) -> None:
        self._series = {
            column["name"]: dict(zip(table["steps"], column["values"], strict=True))
            for table in tables
            for column in table["columns"]
        }

    def __getitem__(self, name: str) -> dict[int, float]:
        return self._series[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._series)

    def __len__(self) -> int:
        return len(self._series)

    def to_pandas(self) -> pandas.DataFrame:
        """A row for each step, a column for each metric; needs pandas."""
        import pandas

        frame = pandas.DataFrame({name: pandas.Series(series) for name, series in self._series.items()})
        return frame.sort_index().rename_axis("step")


def _gain(result: dict[str, Any] | None) -> str:
    """Held-out pass rates before and after."""
    means = [((result or {}).get(when) or {}).get("pass_at", [{}])[0].get("mean") for when in ("before", "after")]
    shown = [f"{mean:.3f}" for mean in means if mean is not None]
    return f", pass@1 {' -> '.join(shown)}" if shown else ""


def _display() -> Any:
    """What shows a job again and again."""
    try:
        from IPython import get_ipython
        from IPython.display import display

        if get_ipython() is not None:
            handle: Any = None

            def update(job: Job) -> None:
                nonlocal handle
                handle = handle.update(job) or handle if handle else display(job, display_id=True)

            return update
    except ImportError:
        pass
    last = ""

    def write(job: Job) -> None:
        nonlocal last
        if repr(job) != last:
            print(job, flush=True)
        last = repr(job)

    return write
