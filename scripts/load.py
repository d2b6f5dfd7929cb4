#!/usr/bin/env python3
"""Measures the API of a release build on this machine, with the load generator beside it: requests by wrk, event
streams and downloads by this program. What depends on the disk stands beside the disk's own rate of synced writes.

    python3 scripts/load.py [--seconds 10] [--streams 2000] [--json FILE]

Needs wrk and target/release/anneal (or $ANNEAL_BIN). Takes about two minutes, and 3 GB in the temporary folder.
"""

import argparse
import asyncio
import contextlib
import hashlib
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import threading
import time
import urllib.request
import uuid
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = os.environ.get("ANNEAL_BIN", str(ROOT / "target/release/anneal"))
JOBS = 10_000
DOWNLOAD_BYTES = 2 << 30


class Server:
    """A server on a data directory, without devices that could run what is submitted."""

    def __init__(self, data):
        began = time.monotonic()
        self.process = subprocess.Popen(
            [PROGRAM, "serve", "--listen", "127.0.0.1:0", "--log", "error", "--data-dir", str(data),
             # A stopped worker would be replaced.
             "--lease-seconds", "3600"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.base = re.search(r"http://\S+", self.process.stdout.readline()).group(0)
        urllib.request.urlopen(f"{self.base}/readyz").read()
        self.ready_ms = (time.monotonic() - began) * 1e3
        self.port = int(self.base.rsplit(":", 1)[1])

    def memory(self, field="VmRSS"):
        """Bytes, of the API's process."""
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(rf"{field}:\s+(\d+)", text).group(1)) * 1024

    def get(self, path):
        with urllib.request.urlopen(self.base + path) as answer:
            return json.load(answer)

    def post(self, path, body):
        request = urllib.request.Request(self.base + path, json.dumps(body).encode(),
                                         {"content-type": "application/json"})
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    def stop_workers(self):
        """Stops whoever would run the jobs: what is measured is the API."""
        for device in self.get("/v1/devices")["data"]:
            if device["pid"]:
                os.kill(device["pid"], signal.SIGSTOP)

    def stop(self):
        for device in self.get("/v1/devices")["data"]:
            if device["pid"]:
                os.kill(device["pid"], signal.SIGKILL)
        self.process.kill()
        self.process.wait()


def synced_writes(folder):
    """Synced writes of 4 KiB a second, one after the other."""
    path, block, count = folder / "sync", os.urandom(4096), 0
    with open(path, "wb", buffering=0) as file:
        began = time.monotonic()
        while time.monotonic() - began < 2:
            file.write(block)
            os.fdatasync(file.fileno())
            count += 1
    path.unlink()
    return count / 2


def wrk(server, script, path, clients, seconds):
    """Requests a second and the 99th percentile of the latency in milliseconds."""
    command = ["wrk", "-t1", f"-c{clients}", f"-d{seconds}s", "-s", str(ROOT / "scripts/load" / script),
               server.base + path]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rate, p99, errors = re.search(r"LOAD (\S+) (\S+) (\d+)", text).groups()
    assert errors == "0", text
    return float(rate), float(p99)


def append_events(data, jobs, stop):
    """One event a second for each job, one after the other and with the time of its commit in it; what workers would
    write."""
    database = sqlite3.connect(data / "anneal.db", timeout=30, isolation_level=None)
    database.execute("pragma synchronous = normal")
    # The pages of the database file have checksums, which the server writes.
    database.execute("pragma wal_autocheckpoint = 0")
    due = time.time()
    while not stop.is_set():
        for job, _ in jobs:
            due += 1 / len(jobs)
            stop.wait(max(0, due - time.time()))
            database.execute("begin immediate")
            now = time.time()
            seq, = database.execute("update job set last_seq = last_seq + 1 where id = ? returning last_seq",
                                    (job,)).fetchone()
            database.execute("insert into event (id, job_id, seq, type, level, message, data, created_at) "
                             "values (?, ?, ?, 'log', 'info', 'tick', ?, ?)",
                             (f"evt_{uuid.uuid4().hex}", job, seq, json.dumps({"at": now}), int(now * 1e3)))
            database.execute("commit")


@contextlib.contextmanager
def writing(data, jobs):
    """Events are appended to the jobs' logs meanwhile."""
    stop = threading.Event()
    writer = threading.Thread(target=append_events, args=(data, jobs, stop))
    writer.start()
    try:
        yield
    finally:
        stop.set()
        writer.join()


def newest_jobs(server):
    """100 jobs and the number of the newest event of each."""
    return [(job["id"], job["last_seq"]) for job in server.get("/v1/jobs?limit=100")["data"]]


EVENT = re.compile(rb'id: (\d+)\n.*?"at":([\d.]+).*?\n\n', re.DOTALL)


async def follow(port, job, last, delays, until):
    """Reads a stream behind event `last` and notes how late every event is; each must have the next number."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET /v1/jobs/{job}/events?after={last} HTTP/1.1\r\nHost: localhost\r\n"
                 "Accept: text/event-stream\r\n\r\n".encode())
    buffer = b""
    try:
        while time.time() < until:
            received = await asyncio.wait_for(reader.read(1 << 16), until - time.time())
            buffer, now, end = buffer + received, time.time(), 0
            for event in EVENT.finditer(buffer):
                seq, at, end = int(event[1]), float(event[2]), event.end()
                assert seq == last + 1, (job, last, seq)
                last = seq
                delays.append(now - at)
            buffer = buffer[end:]
    except asyncio.TimeoutError:
        pass
    finally:
        writer.close()


def streams(server, data, count, seconds):
    """The 99th percentile of how late events are, in milliseconds, and bytes of memory a stream."""
    jobs, delays = newest_jobs(server), []
    before = server.memory()

    async def run():
        until = time.time() + seconds + 5
        tasks = [asyncio.create_task(follow(server.port, *jobs[i % len(jobs)], delays, until)) for i in range(count)]
        await asyncio.sleep(3)
        with writing(data, jobs):
            await asyncio.sleep(seconds)
            memory = server.memory()
        await asyncio.gather(*tasks)
        return memory

    after = asyncio.run(run())
    delays.sort()
    assert len(delays) > count * (seconds - 3), (len(delays), count, seconds)
    return delays[int(len(delays) * 0.99)] * 1e3, (after - before) / count, len(delays)


def add_checkpoint(server, data):
    """A checkpoint with one large file, put into the data directory as a worker would."""
    job = server.get("/v1/jobs?limit=1")["data"][0]["id"]
    folder = data / "jobs" / job / "big"
    folder.mkdir(parents=True)
    block, digest = os.urandom(1 << 20), hashlib.sha256()
    with open(folder / "model.safetensors", "wb") as file:
        for _ in range(DOWNLOAD_BYTES >> 20):
            file.write(block)
            digest.update(block)
    manifest = {"format": 1, "job": job, "kind": "inference", "attempt": 1, "step": 1, "spec_digest": "sha256:00", "files": [
        {"path": "model.safetensors", "size": DOWNLOAD_BYTES, "sha256": digest.hexdigest()}]}
    checkpoint = f"ckpt_{uuid.uuid4().hex}"
    database = sqlite3.connect(data / "anneal.db", timeout=30)
    database.execute("pragma wal_autocheckpoint = 0")
    database.execute("insert into artifact (id, job_id, kind, step, directory, bytes, manifest, completed_at) "
                     "values (?, ?, 'inference', 1, ?, ?, ?, 1)",
                     (checkpoint, job, f"{job}/big", DOWNLOAD_BYTES, json.dumps(manifest)))
    database.commit()
    database.close()
    return checkpoint


def download(server, checkpoint):
    """Bytes a second and by how much the server's memory peak grew."""
    url = f"{server.base}/v1/checkpoints/{checkpoint}/files/model.safetensors"
    before = server.memory("VmHWM")
    best = 0.0
    for _ in range(3):
        command = ["curl", "-fsS", "-o", "/dev/null", "-w", "%{speed_download}", url]
        best = max(best, float(subprocess.run(command, capture_output=True, text=True, check=True).stdout))
    return best, server.memory("VmHWM") - before


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--streams", type=int, default=2000)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp())
    rows = []

    def row(what, value, unit, target):
        rows.append({"what": what, "value": value, "unit": unit, "target": target})
        print(f"{what:<52} {value:>12,.1f} {unit:<10} {target}", flush=True)

    try:
        data = folder / "data"
        row("synced writes of 4 KiB, one after the other", synced_writes(folder), "/s", "")
        server = Server(data)
        time.sleep(2)
        row("memory of the idle server", server.memory() / 1e6, "MB", "<= 60")
        server.stop_workers()
        rate, p99 = wrk(server, "create.lua", "/v1/jobs", 64, options.seconds)
        row("create job, 64 clients", rate, "/s", ">= 1000")
        row("create job, 64 clients, 99th percentile", p99, "ms", "<= 25")
        spec = server.get("/v1/jobs?limit=1")["data"][0]["spec"]
        made = int(rate * options.seconds)
        while made < JOBS:
            server.post("/v1/jobs", spec)
            made += 1
        server.stop()
        if made > JOBS:
            database = sqlite3.connect(data / "anneal.db")
            keep = [job for job, in database.execute("select id from job order by id limit ?", (JOBS,))]
            for table, column in (("event", "job_id"), ("job", "id")):
                database.execute(f"delete from {table} where {column} > ?", (keep[-1],))
            database.commit()
            database.close()
            # Programs before this command had no checksums that it would have to make anew.
            subprocess.run([PROGRAM, "doctor", "--reseal", "--data-dir", str(data)], capture_output=True)
        server = Server(data)
        row(f"start to ready with {JOBS} jobs", server.ready_ms, "ms", "<= 150")
        server.stop_workers()
        job = server.get("/v1/jobs?limit=1")["data"][0]["id"]
        rate, _ = wrk(server, "get.lua", f"/v1/jobs/{job}", 64, options.seconds)
        row("get job, 64 clients", rate, "/s", ">= 15000")
        server.post(f"/v1/jobs/{job}/cancel", {})
        rate, _ = wrk(server, "get.lua", f"/v1/jobs/{job}", 64, options.seconds)
        row("get job that is over, 64 clients", rate, "/s", "")
        _, p99 = wrk(server, "get.lua", "/v1/jobs?limit=20", 4, options.seconds)
        row(f"list 20 of {JOBS} jobs, 4 clients, 99th percentile", p99, "ms", "<= 10")
        with writing(data, newest_jobs(server)[:20]):
            rate, _ = wrk(server, "get.lua", f"/v1/jobs/{job}", 64, options.seconds)
            row("get job that is over, beside 20 commits a second", rate, "/s", "")
            _, p99 = wrk(server, "get.lua", "/v1/jobs?limit=20", 4, options.seconds)
            row("list 20 jobs beside 20 commits a second, 99th p.", p99, "ms", "")
        late, each, events = streams(server, data, options.streams, options.seconds)
        row(f"{options.streams} streams, {events} events, 99th percentile", late, "ms", "<= 300")
        row(f"memory of each of {options.streams} streams", each / 1024, "KiB", "<= 40")
        speed, grown = download(server, add_checkpoint(server, data))
        row("checkpoint download", speed / 1e9, "GB/s", ">= 1")
        row("memory peak grew by, over three downloads of 2 GiB", grown / 1e6, "MB", "flat")
        server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
