#!/usr/bin/env python3
"""Measures what many idle agents ask of one server, and how late a job reaches the one that is to run it.

    python3 scripts/load_agents.py [--agents 1000] [--seconds 30]

Each agent is a machine with one device: it waits for a job by long poll, and gives a sign of life every 5 seconds. Jobs are
submitted one by one; each is claimed, and ended at once. The agents are simulated here, and share the machine with the server.

Needs target/release/anneal (or $ANNEAL_BIN), for which the time of the processor is counted.
"""

import argparse
import asyncio
import json
import os
import random
import subprocess
import tempfile
import time
import uuid
from pathlib import Path

SPEC = {"model": "builtin:arith-tiny", "dataset": {"train": "builtin:arithmetic"}, "objective": {"type": "sft"}}
BEAT = 5


class Connection:
    """Requests one after the other over one connection."""

    def __init__(self, port):
        self.port, self.streams, self.turn = port, None, asyncio.Lock()

    async def post(self, path, body):
        async with self.turn:
            return await self.post_now(path, body)

    async def post_now(self, path, body):
        if self.streams is None:
            self.streams = await asyncio.open_connection("127.0.0.1", self.port)
        reader, writer = self.streams
        data = json.dumps(body).encode()
        writer.write(f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
                     f"content-length: {len(data)}\r\n\r\n".encode() + data)
        head = await reader.readuntil(b"\r\n\r\n")
        status = int(head.split()[1])
        length = [int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")]
        answer = await reader.readexactly(length[0]) if length else b""
        return status, json.loads(answer) if answer else None


class Agent:
    def __init__(self, port, number, shared):
        self.name, self.worker = f"box-{number}", f"wrk_{uuid.uuid4().hex}"
        # Of thousands each has one connection, because of the limit of open files.
        self.claiming, self.beating = Connection(port), shared[number % len(shared)]

    async def begin(self):
        device = {"name": f"{self.name}/cpu", "number": 0, "description": "simulated", "memory_total": 8 << 30,
                  "memory_free": 8 << 30, "processes": []}
        body = {"protocol": 1, "name": self.name, "identity": uuid.uuid4().hex, "version": "load", "devices": [device]}
        status, answer = await self.beating.post("/v1/agent/hosts", body)
        assert status == 200, answer
        status, answer = await self.beating.post(
            "/v1/agent/workers", {"id": self.worker, "device": f"{self.name}/cpu", "pid": 1})
        assert status == 200, answer

    async def beat(self):
        await asyncio.sleep(BEAT * random.random())
        while True:
            began = time.monotonic()
            status, answer = await self.beating.post(f"/v1/agent/workers/{self.worker}/beat", {"held": []})
            assert status == 200, answer
            await asyncio.sleep(max(0, BEAT - (time.monotonic() - began)))

    async def work(self, claimed):
        while True:
            status, job = await self.claiming.post(f"/v1/agent/workers/{self.worker}/claim?wait=20", {"held": []})
            if status == 204:
                continue
            assert status == 200, job
            claimed.put_nowait((job["job"], time.monotonic()))
            status, answer = await self.claiming.post(
                f"/v1/agent/leases/{job['job']}/{job['attempt']}/end",
                {"outcome": "failed", "failure": {"kind": "internal", "code": "internal", "message": "measured"}})
            assert status == 200, answer


def cpu_seconds(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


async def measure(server, port, options):
    claimed, tasks = asyncio.Queue(), []
    shared = [Connection(port) for _ in range(min(options.agents, 1000))]
    for number in range(options.agents):
        agent = Agent(port, number, shared)
        await agent.begin()
        tasks += [asyncio.create_task(agent.beat()), asyncio.create_task(agent.work(claimed))]
    await asyncio.sleep(2 * BEAT)
    before, began = cpu_seconds(server.pid), time.monotonic()
    await asyncio.sleep(options.seconds)
    share = (cpu_seconds(server.pid) - before) / (time.monotonic() - began)
    print(f"{options.agents} idle agents, a sign of life each {BEAT} s: {100 * share:.1f} % of a core")
    client, late = Connection(port), []
    for _ in range(options.jobs):
        status, job = await client.post("/v1/jobs", SPEC)
        assert status == 201, job
        submitted = time.monotonic()
        found, at = await asyncio.wait_for(claimed.get(), 30)
        assert found == job["id"]
        late.append(at - submitted)
        await asyncio.sleep(0.05)
    print(f"claims of {options.jobs} jobs, after the answer to their submission: p50 {1000 * percentile(late, .5):.1f} ms, "
          f"p99 {1000 * percentile(late, .99):.1f} ms")
    for task in tasks:
        if task.done():
            task.result()
        task.cancel()


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--agents", type=int, default=1000)
    arguments.add_argument("--seconds", type=int, default=30)
    arguments.add_argument("--jobs", type=int, default=200)
    options = arguments.parse_args()
    program = os.environ.get("ANNEAL_BIN", "target/release/anneal")
    with tempfile.TemporaryDirectory() as data:
        server = subprocess.Popen([program, "serve", "--supervised", "--listen", "127.0.0.1:0", "--devices", "none", "--log", "error",
                                   "--data-dir", data], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            port = int(server.stdout.readline().split("http://")[1].split()[0].rsplit(":", 1)[1])
            asyncio.run(measure(server, port, options))
        finally:
            server.kill()
            server.wait()


if __name__ == "__main__":
    main()
