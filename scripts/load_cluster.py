#!/usr/bin/env python3
"""Measures how late the events of jobs are for those who follow them at two servers that share a PostgreSQL.

    scripts/postgres.sh python3 scripts/load_cluster.py [--seconds 10] [--streams 2000]

Needs target/release/anneal (or $ANNEAL_BIN). The writer, the readers, the servers and the database share the machine.
"""

import argparse
import asyncio
import os
import shutil
import subprocess
import tempfile
import threading
import time
from pathlib import Path

import load

JOBS = 100
SPEC = {"model": "builtin:arith-tiny", "dataset": {"train": "builtin:arithmetic"}, "objective": {"type": "sft"}}


class Server(load.Server):
    """A server on a machine of its own, so to speak."""

    def __init__(self, data, name):
        os.environ.update(ANNEAL_DATABASE=os.environ["ANNEAL_TEST_POSTGRES"], ANNEAL_HOST_NAME=name)
        super().__init__(data)


def append_events(jobs, stop):
    """One event a second for each job, one after the other and with the time of its commit in it."""
    database = subprocess.Popen(["psql", "-q", os.environ["ANNEAL_TEST_POSTGRES"]], stdin=subprocess.PIPE, text=True)
    due = time.time()
    while not stop.is_set():
        for job, _ in jobs:
            due += 1 / len(jobs)
            stop.wait(max(0, due - time.time()))
            database.stdin.write(
                "begin; with j as (update job set last_seq = last_seq + 1 where id = '%s' returning id, last_seq) "
                "insert into event (id, job_id, seq, type, level, message, data, created_at) "
                "select 'evt_' || replace(gen_random_uuid()::text, '-', ''), id, last_seq, 'log', 'info', 'tick', "
                "'{\"at\":' || extract(epoch from clock_timestamp()) || '}', 0 from j; commit;\n" % job)
            database.stdin.flush()
    database.stdin.close()
    database.wait()


async def follow_all(servers, jobs, count, seconds, delays):
    until = time.time() + seconds + 8
    tasks = [asyncio.create_task(load.follow(servers[i % 2].port, *jobs[i % len(jobs)], delays, until))
             for i in range(count)]
    await asyncio.sleep(5)
    stop = threading.Event()
    writer = threading.Thread(target=append_events, args=(jobs, stop))
    writer.start()
    await asyncio.sleep(seconds)
    stop.set()
    writer.join()
    await asyncio.gather(*tasks)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--streams", type=int, default=2000)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp())
    servers, delays = [], []
    try:
        for name in ("one", "two"):
            if servers:
                (folder / name).mkdir()
                for key in (folder / "one").glob("*.key"):
                    shutil.copy(key, folder / name)
            servers.append(Server(folder / name, name))
        time.sleep(2)
        servers[0].stop_workers()
        jobs = [(job["id"], job["last_seq"]) for job in (servers[0].post("/v1/jobs", SPEC) for _ in range(JOBS))]
        asyncio.run(follow_all(servers, jobs, options.streams, options.seconds, delays))
        # The writer has no more of Python than each reader.
        assert len(delays) > options.streams * options.seconds / 3, (len(delays), options)
        delays.sort()
        for share in (0.5, 0.99):
            late = delays[int(len(delays) * share)] * 1e3
            print(f"{options.streams} streams at two servers, {len(delays)} events, quantile {share}: {late:.0f} ms")
    finally:
        for server in servers[:1]:
            server.stop()
        for server in servers[1:]:
            server.process.kill()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
