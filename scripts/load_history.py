#!/usr/bin/env python3
"""Measures what a server with a long history takes to answer: 100,000 jobs, five million values of metrics, and one job of a
million steps.

    python3 scripts/load_history.py [--jobs 100000] [--steps 1000000]

One small job really runs; its rows are then written again and again under other ids, as the database would have them, so that
the history is there within two minutes. Then every list, the queue, the metrics, the report and the events are asked for as a
client does, one after the other: how long the first time takes, and the median of --tries, of which the later ones may find
the answer of an earlier one.

Needs target/release/anneal (or $ANNEAL_BIN). Prints a table in Markdown.
"""

import argparse
import http.client
import json
import os
import random
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SPEC = {
    "name": "template",
    "model": "builtin:arith-tiny",
    "dataset": {"train": "builtin:arithmetic"},
    "verifier": {"type": "numeric"},
    "objective": {"type": "grpo", "group_size": 8},
    "sampling": {"max_new_tokens": 6},
    "train": {"steps": 2, "prompts_per_step": 8},
    "metadata": {"team": "a"},
}
# Of a hundred jobs; the last ones still wait.
ENDS = ["succeeded"] * 92 + ["failed"] * 5 + ["cancelled"] * 3
WAITING = 1000


class Server:
    """A server on a data directory."""

    def __init__(self, program, data, devices):
        self.port = random.randint(20000, 60000)
        command = [program, "serve", "--supervised", "--data-dir", data, "--listen", f"127.0.0.1:{self.port}"]
        began = time.monotonic()
        self.process = subprocess.Popen([*command, "--log", "error", "--devices", devices], stdin=subprocess.PIPE,
                                        stdout=subprocess.DEVNULL)
        while True:
            try:
                if self.request("GET", "/readyz")[0] == 200:
                    break
            except OSError:
                time.sleep(0.02)
            assert self.process.poll() is None, "the server does not start"
        self.start_seconds = time.monotonic() - began
        self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)

    def request(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request(method, path, body=json.dumps(body) if body else None,
                           headers={"content-type": "application/json"})
        response = connection.getresponse()
        return response.status, response.read()

    def rest(self):
        """Waits until it has looked through what it found, for a minute at most."""
        def used():
            return sum(map(int, Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13]))

        for _ in range(60):
            before = used()
            time.sleep(1)
            if used() - before < os.sysconf("SC_CLK_TCK") / 20:
                return

    def ask(self, path):
        """Milliseconds of a request over a connection that is there, and the bytes of its answer."""
        began = time.perf_counter()
        self.connection.request("GET", path)
        response = self.connection.getresponse()
        body = response.read()
        took = (time.perf_counter() - began) * 1000
        assert response.status == 200, (path, response.status, body[:300])
        return took, body

    def stop(self):
        self.process.terminate()
        self.process.wait()


def run_template(program, data):
    """Runs the job whose rows are multiplied; its id."""
    server = Server(program, data, "cpu")
    status, body = server.request("POST", "/v1/jobs", SPEC)
    assert status in (201, 202), body
    job = json.loads(body)["id"]
    while json.loads(server.request("GET", f"/v1/jobs/{job}")[1])["status"] != "succeeded":
        time.sleep(0.1)
    server.stop()
    return job


def fresh(prefix, at):
    """An id that is as old as its row."""
    return f"{prefix}_{at:012x}7{random.getrandbits(76):019x}"


class History:
    def __init__(self, data, template):
        self.db = sqlite3.connect(Path(data) / "anneal.db")
        self.db.execute("pragma synchronous = off")
        self.db.execute("pragma cache_size = -400000")
        self.template, self.rows = template, {}
        for table in ("job", "attempt", "event", "artifact", "metric_block", "job_input", "job_metadata"):
            key = "id" if table == "job" else "job_id"
            cursor = self.db.execute(f'select * from "{table}" where {key} = ?', (template,))
            self.rows[table] = ([column[0] for column in cursor.description], cursor.fetchall())

    def insert(self, table, rows):
        names = self.rows[table][0]
        marks = ", ".join("?" * len(names))
        self.db.executemany(f'insert into "{table}" ({", ".join(names)}) values ({marks})', rows)

    def copies(self, table, job, **changes):
        """The template's rows of a table for another job."""
        names, rows = self.rows[table]
        for row in rows:
            values = dict(zip(names, row))
            if "job_id" in values:
                values["job_id"] = job
            if table in ("event", "artifact"):
                values["id"] = fresh("evt" if table == "event" else "ckpt", random.getrandbits(40))
            if "directory" in values:
                values["directory"] = values["directory"].replace(self.template, job)
            values.pop("position", None)
            values.update({name: value for name, value in changes.items() if name in values})
            yield tuple(values.get(name) for name in names)

    def jobs(self, count):
        now = int(time.time() * 1000)
        for first in range(0, count, 1000):
            batch = {table: [] for table in self.rows}
            for number in range(first, min(first + 1000, count)):
                at = now - (count - number) * 60_000
                job, waits = fresh("job", at), number >= count - WAITING
                status = "queued" if waits else random.choice(ENDS)
                metadata = {"team": random.choice("abcdefgh"), "run": str(number)}
                changes = {"id": job, "name": f"run-{number}", "status": status, "metadata": json.dumps(metadata),
                           "created_at": at, "updated_at": at, "started_at": None if waits else at,
                           "finished_at": None if waits else at + 30_000, "worker": None}
                if waits:
                    changes |= {"attempt": 0, "step": 0, "phase": None, "result": None}
                batch["job"] += self.copies("job", job, **changes)
                batch["job_input"] += self.copies("job_input", job)
                for key, value in metadata.items():
                    batch["job_metadata"] += self.copies("job_metadata", job, key=key, value=value)
                if not waits:
                    for table in ("attempt", "event", "artifact", "metric_block"):
                        batch[table] += self.copies(table, job, started_at=at, ended_at=at + 30_000, created_at=at)
            for table, rows in batch.items():
                self.insert(table, rows)
        self.db.execute("update project set waiting = waiting + ?", (min(WAITING, count),))
        self.db.commit()

    def long_job(self, steps):
        """A job that has reported so many steps, and runs, as far as the rows say."""
        at = int(time.time() * 1000) - 86_400_000
        job = fresh("job", at)
        changes = {"id": job, "name": "long", "created_at": at, "started_at": at, "finished_at": at + 80_000_000,
                   "step": steps, "steps": steps, "last_seq": steps + 1, "reported": steps, "status": "cancelled"}
        self.insert("job", self.copies("job", job, **changes))
        self.insert("attempt", self.copies("attempt", job))
        self.insert("job_input", self.copies("job_input", job))
        names = self.rows["event"][0]

        def events():
            values = {}
            for step in range(1, steps + 1):
                value = step * 7919 % 1013 / 1013
                data = (f'{{"step":{step},"values":{{"grad/norm":{1 + value:.6f},"loss":{1 / (1 + step / 1000) + value / 10:.6f},'
                        f'"reward/mean":{value:.6f}}}}}')
                values = {"id": fresh("evt", at), "job_id": job, "seq": step, "type": "metrics", "level": "info",
                          "message": f"step {step}", "data": data, "created_at": at + step}
                yield tuple(values.get(name) for name in names)
            values |= {"id": fresh("evt", at), "seq": steps + 1, "type": "status", "message": "cancelled",
                       "data": '{"status":"cancelled","reason":"cancelled by a client"}'}
            yield tuple(values.get(name) for name in names)

        self.insert("event", events())
        self.db.commit()
        return job

    def close(self, program, data):
        self.db.execute("pragma wal_checkpoint(truncate)")
        self.db.close()
        # Pages that others have written have no checksums.
        subprocess.run([program, "doctor", "--reseal", "--data-dir", data], stdout=subprocess.DEVNULL, check=False)


def routes(template, long, newest, steps):
    """What is asked for, by what it is called."""
    last = f"/v1/jobs/{template}"
    return {
        "jobs, the newest 20": "/v1/jobs?limit=20",
        "jobs, 100 that succeeded": "/v1/jobs?status=succeeded&limit=100",
        "jobs that failed": "/v1/jobs?status=failed&limit=20",
        "jobs that run, of which there are none": "/v1/jobs?status=running&limit=20",
        "jobs that wait": "/v1/jobs?status=queued&limit=100",
        "jobs by metadata, many": "/v1/jobs?metadata%5Bteam%5D=c&limit=20",
        "jobs by metadata, one": "/v1/jobs?metadata%5Brun%5D=17&limit=20",
        "jobs by a part of their name": "/v1/jobs?q=run-77&limit=20",
        "jobs by a name that none has": "/v1/jobs?q=nobody&limit=20",
        "jobs of a model": "/v1/jobs?model=builtin%3Aarith-tiny&limit=20",
        "jobs of a model that none has": "/v1/jobs?model=builtin%3Anothing&limit=20",
        "fine-tuning jobs by metadata": "/v1/fine_tuning/jobs?metadata%5Brun%5D=17",
        "the queue": "/v1/queue",
        "models": "/v1/models?limit=20",
        "checkpoints of a job": f"{last}/checkpoints",
        "events of all jobs, of a kind": "/v1/events?type=checkpoint&limit=200",
        "a job": last,
        "report of a job": f"{last}/report",
        "metrics for Prometheus": "/metrics",
        "a waiting job": f"/v1/jobs/{newest}",
        "long job: three metrics, 1000 points": f"/v1/jobs/{long}/metrics?keys=loss,grad/norm,reward/mean&points=1000",
        "long job: its report": f"/v1/jobs/{long}/report",
        "long job: its last events": f"/v1/jobs/{long}/events?after={steps - 200}&limit=200",
    }


def replay(server, job, steps):
    """Events a second of a stream that is read from its begin."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=600)
    began = time.perf_counter()
    connection.request("GET", f"/v1/jobs/{job}/events?stream=true")
    response = connection.getresponse()
    count, rest = 0, b""
    while chunk := response.read(1 << 20):
        chunk = rest + chunk
        count += chunk.count(b"\n\n")
        rest = chunk[-1:] if not chunk.endswith(b"\n\n") else b""
    return count, count / (time.perf_counter() - began)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=100_000)
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--tries", type=int, default=5)
    parser.add_argument("--data-dir", help="where the history is made, or was made before [default: made anew, and removed]")
    arguments = parser.parse_args()
    program = os.environ.get("ANNEAL_BIN", "target/release/anneal")
    with tempfile.TemporaryDirectory(dir="target") as folder:
        data = arguments.data_dir or folder
        known = Path(data) / "history.json"
        if not known.exists():
            template = run_template(program, data)
            began = time.monotonic()
            history = History(data, template)
            history.jobs(arguments.jobs)
            ids = {"template": template, "long": history.long_job(arguments.steps)}
            ids["newest"], = history.db.execute("select max(id) from job where status = 'queued'").fetchone()
            history.close(program, data)
            known.write_text(json.dumps(ids))
            print(f"made in {time.monotonic() - began:.0f} s", file=sys.stderr)
        ids = json.loads(known.read_text())
        server = Server(program, data, "none")
        print(f"the server began in {server.start_seconds:.1f} s", file=sys.stderr)
        server.rest()
        print("| what is asked for | first, ms | median, ms | KB |\n|---|---|---|---|")
        for name, path in routes(ids["template"], ids["long"], ids["newest"], arguments.steps).items():
            try:
                asked = [server.ask(path) for _ in range(arguments.tries)]
            except AssertionError as refusal:
                print(f"| {name} | {refusal.args[0][1:]} | | |", file=sys.stderr)
                continue
            times = [took for took, _ in asked]
            print(f"| {name} | {times[0]:.1f} | {statistics.median(times):.1f} | {len(asked[0][1]) / 1000:.0f} |")
        count, rate = replay(server, ids["long"], arguments.steps)
        print(f"\nThe stream of {count:,} events: {rate:,.0f} a second.")
        server.stop()


if __name__ == "__main__":
    main()
