"""A server of one's own, and a client of the public API: submit, wait, read events and metrics."""

import contextlib
import hashlib
import json
import os
import select
import subprocess
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

START_SECONDS = 60
STOP_SECONDS = 30
# One wait request; the server answers at the latest after this.
WAIT_SECONDS = 20
# A server that does not answer may be starting again.
RETRY_SECONDS = 60
# For how many jobs' time one of a sweep waits for its turn.
TURNS = 100
EVENTS_PER_PAGE = 200
MAX_EVENT_PAGES = 500
FAILED = ("failed", "cancelled")
FINAL = ("succeeded", *FAILED)


class ServiceError(Exception):
    """The server cannot be started, is gone, or answers what it should not."""


class Refused(Exception):
    """The server refused a request, such as a spec with a field at fault."""


class JobFailed(Exception):
    """A job ended otherwise than by succeeding, or not in time."""


class Server:
    """`anneal serve` on a free port with a data directory that is gone afterwards; use it in a `with` statement.

    The server ends with this program, however that ends, because it watches its standard input."""

    def __init__(self, program, folder):
        self.program = Path(program).resolve()
        self.folder = Path(folder)
        self.process = None
        self.url = None

    def __enter__(self):
        if not os.access(self.program, os.X_OK):
            raise ServiceError(
                f"{self.program} is no program; build it with `cargo build --release` or name another with --anneal"
            )
        self._data = tempfile.TemporaryDirectory(prefix="server-", dir=self.folder)
        self._log = open(self.folder / "server.log", "w+b")
        # Settings of the user must not change what is measured.
        environment = {k: v for k, v in os.environ.items() if not k.startswith("ANNEAL_")}
        self.process = subprocess.Popen(
            [
                str(self.program),
                "serve",
                "--supervised",
                "--data-dir",
                str(Path(self._data.name).resolve()),
                "--listen",
                "127.0.0.1:0",
                "--devices",
                "cpu",
                "--log",
                "warn",
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=environment,
            cwd=self._data.name,
        )
        try:
            self.url = self._address()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self._log.close()
        self._data.cleanup()

    def _address(self):
        """The address from the server's first line."""
        ready, _, _ = select.select([self.process.stdout], [], [], START_SECONDS)
        words = self.process.stdout.readline().decode().split() if ready else []
        address = next((word for word in words if word.startswith("http://")), None)
        if address is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(2 if ready else 0)  # Its output has ended before it has.
            raise ServiceError(f"the server did not start within {START_SECONDS} s: {self.trouble()}")
        return address

    def trouble(self):
        """Whether the process lives, and the end of its log."""
        self._log.flush()
        log = (self.folder / "server.log").read_text(errors="replace").strip().splitlines()[-5:]
        code = self.process.poll()
        state = "it is running" if code is None else f"it ended with code {code}"
        return f"{state}; {' / '.join(log) or 'its log is empty'}"


class Client:
    """The calls of the API that the study needs. Every call and every wait has a bound."""

    def __init__(self, url, key=None, retry_seconds=RETRY_SECONDS):
        self.url = url.rstrip("/")
        self.headers = {"Authorization": f"Bearer {key}"} if key else {}
        self.retry_seconds = retry_seconds

    def call(self, path, body=None, timeout=60, key=None):
        """The JSON answer to a GET, or with a body to a POST: an object as JSON, bytes as they are. With a key the server
        does it once, however often it is asked; then, as a GET, it is asked again while it does not answer."""
        data = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
        headers = {**self.headers, **({"Content-Type": "application/json"} if data else {})}
        if key:
            headers["Idempotency-Key"] = key
        until = time.monotonic() + (self.retry_seconds if key or data is None else 0)
        while True:
            request = urllib.request.Request(self.url + path, data, headers)
            try:
                with urllib.request.urlopen(request, timeout=timeout) as answer:
                    return json.load(answer)
            except urllib.error.HTTPError as error:
                raise Refused(f"{path}: {_problem(error)}") from None
            except (OSError, ValueError) as error:
                if time.monotonic() >= until:
                    raise ServiceError(f"no answer from {self.url}{path}: {error}") from None
                time.sleep(1)

    def upload(self, name, rows):
        """Stores rows as a data set; its id. The same rows are stored once."""
        lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
        path = f"/v1/datasets?name={urllib.parse.quote(name)}"
        return self.call(path, lines, key=_key(name, lines))["id"]

    def run(self, spec, limit_seconds):
        """Submits a job and waits for its end; the finished job. One that the server was given before is not begun again."""
        job = self.call("/v1/jobs", spec, key=_key("job", json.dumps(spec, sort_keys=True).encode()))
        if self.call(f"/v1/jobs/{job['id']}/wait?timeout=0")["status"] in FAILED:
            # It ended so in an earlier run of the study.
            job = self.call("/v1/jobs", spec)
        return self.finish(job["id"], limit_seconds)

    def again(self, job_id):
        """A job of a sweep; one that has failed in an earlier run of the study is put into the queue again."""
        if self.call(f"/v1/jobs/{job_id}/wait?timeout=0")["status"] in FAILED:
            self.call(f"/v1/jobs/{job_id}/resume", {})
        return job_id

    def finish(self, job_id, limit_seconds):
        """Waits for a job's end; a job that takes longer than the limit is cancelled."""
        deadline = time.monotonic() + limit_seconds
        last_turn = time.monotonic() + TURNS * limit_seconds
        while True:
            left = deadline - time.monotonic()
            seconds = max(0, min(WAIT_SECONDS, int(left)))
            job = self.call(f"/v1/jobs/{job_id}/wait?timeout={seconds}", timeout=seconds + 60)
            if job["status"] == "succeeded":
                return job
            if job["status"] in FINAL:
                failure = job.get("failure") or {}
                raise JobFailed(
                    f"{job_id} {job['status']}: {failure.get('message') or 'without a message'} "
                    f"({failure.get('code') or 'no code'})"
                )
            if job["status"] == "paused":
                # Its turn in its sweep has not come, which is no reason for the server to wait, and no time of its own.
                time.sleep(0.2)
                deadline = min(last_turn, time.monotonic() + limit_seconds)
            if left <= 0:
                # It may have ended at this very moment, or be out of reach; it is given up either way.
                with contextlib.suppress(Refused, ServiceError):
                    self.call(f"/v1/jobs/{job_id}/cancel", {})
                raise JobFailed(
                    f"{job_id} was not finished after {limit_seconds:.0f} s; it was at step "
                    f"{job.get('step')} of {job.get('steps')}"
                )

    def events(self, job_id):
        """All events of a job, page by page."""
        events, after = [], 0
        for _ in range(MAX_EVENT_PAGES):
            page = self.call(f"/v1/jobs/{job_id}/events?after={after}&limit={EVENTS_PER_PAGE}")
            events += page["data"]
            if not page["has_more"]:
                return events
            after = page["data"][-1]["seq"]
        raise ServiceError(f"{job_id} has more than {MAX_EVENT_PAGES * EVENTS_PER_PAGE} events")

    def metrics(self, job_id, keys):
        """Series by name, each with `steps` and `values`; metrics that the job does not report are left out."""
        query = urllib.parse.urlencode({"keys": ",".join(keys), "points": 2000}, safe="/,")
        series = self.call(f"/v1/jobs/{job_id}/metrics?{query}")["series"]
        return {s["name"]: {"steps": s["steps"], "values": s["values"]} for s in series}


def _key(name, content):
    return "study-" + hashlib.sha256(name.encode() + b"\0" + content).hexdigest()[:32]


def _problem(error):
    """One line from an error answer: what is wrong, and with which fields."""
    text = error.read().decode(errors="replace")
    try:
        problem = json.loads(text)
        fields = [f"{e.get('pointer')}: {e.get('detail')}" for e in problem.get("errors") or []]
        return "; ".join(fields) or problem["detail"]
    except (ValueError, KeyError, AttributeError):
        return f"status {error.code}, {text[:200]}"
