#!/usr/bin/env python3
"""Tries whether a worker of any make keeps the protocol of docs/agents.md: starts servers of its own, runs the worker beside
them, disturbs both, and looks at what the servers say came of it.

    scripts/agent_conformance.py --anneal target/debug/anneal --exact -- sh -c 'exec target/debug/anneal worker \\
      --server $ANNEAL_AGENT_SERVER --token-file $ANNEAL_AGENT_TOKEN_FILE --host-name $ANNEAL_AGENT_NAME \\
      --data-dir $ANNEAL_AGENT_FOLDER --devices cpu'

The command must run one agent with one device, which takes jobs until it gets SIGTERM; it is told where by those four
variables. Jobs are of the built-in model, 60 steps at most. With --exact the weights must have the bits that the server's own
device makes. Needs python3 and nothing else; ends with the number of what failed.
"""

import argparse
import hashlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

LEASE = 3
# What a worker may take for what it is to do at once.
SOON = 4 * LEASE
# What a whole job may take.
LONG = 240

SPEC = {
    "model": "builtin:arith-tiny",
    "dataset": {"train": "builtin:arithmetic"},
    "verifier": {"type": "numeric"},
    "objective": {"type": "bolt", "group_size": 4, "rounds": 2},
    "sampling": {"max_new_tokens": 5, "batch_size": 64},
    "optimizer": {"learning_rate": 0.0003},
    "train": {"steps": 40, "prompts_per_step": 16, "micro_batch_tokens": 256},
    "eval": {"prompts": 16, "samples": 4, "pass_at": [1, 4], "every_steps": 20},
    "checkpoints": {"every_steps": 2},
    "seed": 3,
}


class Failed(Exception):
    """What was expected and did not happen."""


def expect(condition, what):
    if not condition:
        raise Failed(what)


class Relay:
    """A way to the server that can be cut, and that can lose answers: the request arrives, and the connection ends."""

    def __init__(self, port):
        self.port, self.is_cut, self.loses_every, self.count = port, False, 0, 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.ends = []
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            near, _ = self.listener.accept()
            if self.is_cut:
                near.close()
                continue
            try:
                far = socket.create_connection(("127.0.0.1", self.port))
            except OSError:
                near.close()
                continue
            self.ends += [near, far]
            threading.Thread(target=self.carry, args=(near, far, False), daemon=True).start()
            threading.Thread(target=self.carry, args=(far, near, True), daemon=True).start()

    def carry(self, source, target, answers):
        try:
            while data := source.recv(1 << 16):
                if answers and self.loses_every:
                    self.count += 1
                    if self.count % self.loses_every == 0:
                        break
                target.sendall(data)
        except OSError:
            pass
        for end in (source, target):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            end.close()

    def cut(self):
        self.is_cut = True
        for end in self.ends:
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        self.ends.clear()

    def heal(self):
        self.is_cut = False


class Site:
    """A server without devices, an agent's key, and the worker under test beside it."""

    def __init__(self, options, relayed=False, devices="none"):
        self.options, self.folder = options, tempfile.mkdtemp(prefix="conformance.")
        self.data, self.devices = os.path.join(self.folder, "data"), devices
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.base, self.worker = f"http://127.0.0.1:{self.port}", None
        self.key = self.make_key("admin", "read,write,admin")
        self.token = os.path.join(self.folder, "token")
        with open(self.token, "w", encoding="utf-8") as file:
            file.write(self.make_key("agent", "agent"))
        self.relay = Relay(self.port) if relayed else None
        self.serve()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in (self.worker, self.server):
            if process and process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def make_key(self, name, scopes):
        command = [self.options.anneal, "keys", "create", name, "--scopes", scopes, "--local", "--data-dir", self.data]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    def serve(self):
        command = [self.options.anneal, "serve", "--data-dir", self.data, "--devices", self.devices, "--log", "error"]
        command += ["--listen", f"127.0.0.1:{self.port}", "--lease-seconds", str(LEASE)]
        self.server = subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True)
        self.until("the server answers", lambda: self.get("/readyz", raw=True), SOON)

    def start(self, name="under-test"):
        # The same each time, so that it is the same machine.
        folder = os.path.join(self.folder, f"worker-{name}")
        told = {
            "ANNEAL_AGENT_SERVER": self.relay.url if self.relay else self.base,
            "ANNEAL_AGENT_TOKEN_FILE": self.token,
            "ANNEAL_AGENT_NAME": name,
            "ANNEAL_AGENT_FOLDER": folder,
        }
        output = None if self.options.verbose else subprocess.DEVNULL
        self.worker = subprocess.Popen(
            self.options.command, env={**os.environ, **told}, start_new_session=True, stdout=output, stderr=output
        )
        return self

    def ask(self, method, path, body=None, raw=False):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data=data, method=method)
        request.add_header("authorization", f"Bearer {self.key}")
        request.add_header("content-type", "application/json")
        with urllib.request.urlopen(request, timeout=60) as answer:
            found = answer.read()
        return found if raw else json.loads(found)

    def get(self, path, raw=False):
        return self.ask("GET", path, raw=raw)

    def post(self, path, body=None):
        return self.ask("POST", path, body or {})

    def until(self, what, condition, seconds=LONG):
        deadline = time.monotonic() + seconds
        while True:
            try:
                if found := condition():
                    return found
            except (urllib.error.URLError, ConnectionError, TimeoutError):
                pass
            if time.monotonic() > deadline:
                raise Failed(f"{what}, within {seconds} s")
            time.sleep(0.1)

    def submit(self, **changes):
        spec = json.loads(json.dumps(SPEC))
        spec["train"].update(changes)
        return self.post("/v1/jobs", spec)["id"]

    def job(self, job):
        return self.get(f"/v1/jobs/{job}")

    def until_job(self, job, what, condition, seconds=LONG):
        return self.until(f"{what}: {job}", lambda: condition(self.job(job)) and self.job(job), seconds)

    def at_step(self, job, step):
        return self.until_job(job, f"step {step} is reported", lambda job: (job["step"] or 0) >= step)

    def succeeded(self, job):
        found = self.until_job(job, "the job ends", lambda job: job["status"] in ("succeeded", "failed", "cancelled"))
        expect(found["status"] == "succeeded", f"the job succeeds, and not: {found['status']} {found.get('failure')}")
        return found

    def steps(self, job):
        """The steps whose metrics were reported, in their order, each with its attempt."""
        steps, after, attempt = [], 0, 0
        while True:
            page = self.get(f"/v1/jobs/{job}/events?after={after}&limit=200")
            for event in page["data"]:
                after = event["seq"]
                if event["type"] == "status" and event["data"]["status"] == "starting":
                    attempt += 1
                if event["type"] == "metrics":
                    steps.append((attempt, event["data"]["step"]))
            if not page["has_more"]:
                return steps

    def attempts(self, job):
        return self.get(f"/v1/jobs/{job}/attempts")["data"]


def it_registers(options):
    """It registers under the name that it is told, with one device that waits for jobs."""
    with Site(options).start() as site:
        def idle():
            devices = site.get("/v1/devices")["data"]
            return [device for device in devices if device["status"] == "idle"]

        devices = site.until("a device waits for jobs", idle)
        expect(len(devices) == 1 and devices[0]["id"].startswith("under-test/"), f"one device below its name: {devices}")
        hosts = {host["id"]: host for host in site.get("/v1/hosts")["data"]}
        expect(hosts.get("under-test", {}).get("kind") == "agent", f"an agent with its name: {list(hosts)}")


def a_job_is_run(options):
    """A job succeeds, each step is reported once and in order, and what it made is what was sent."""
    with Site(options).start() as site:
        job = site.submit()
        found = site.succeeded(job)
        steps = [step for _, step in site.steps(job)]
        expect(steps == sorted(set(steps)) and steps[-1] == 40, f"steps are reported once and in order: {steps}")
        checkpoint = site.get(f"/v1/checkpoints/{found['result']['checkpoint']}")
        for file in checkpoint["files"]:
            content = site.get(f"/v1/checkpoints/{checkpoint['id']}/files/{file['path']}", raw=True)
            expect(hashlib.sha256(content).hexdigest() == file["sha256"], f"{file['path']} has its digest")
        if options.exact:
            with Site(options, devices="cpu") as own:
                expected = own.succeeded(own.submit())["result"]["weights_sha256"]
            expect(found["result"]["weights_sha256"] == expected, "the weights have the bits of the server's own device")


def what_is_asked_is_done(options):
    """A job is cancelled and paused when a client asks, and goes on from where it was."""
    with Site(options).start() as site:
        job = site.submit()
        site.at_step(job, 2)
        site.post(f"/v1/jobs/{job}/cancel")
        site.until_job(job, "it is cancelled", lambda job: job["status"] == "cancelled", SOON)
        job = site.submit()
        step = site.at_step(job, 4)["step"]
        site.post(f"/v1/jobs/{job}/pause")
        site.until_job(job, "it is paused", lambda job: job["status"] == "paused", SOON)
        site.post(f"/v1/jobs/{job}/resume")
        site.succeeded(job)
        first = site.attempts(job)[0]["first_step"]
        expect(first >= min(step, 2), f"it goes on from what was saved: first_step is {first} after a pause at {step}")


def cut_off(options):
    """Cut off for longer than a lease, it writes nothing more of a job that is another attempt's, and takes jobs again."""
    with Site(options, relayed=True).start() as site:
        job = site.submit()
        site.at_step(job, 4)
        site.relay.cut()
        site.until_job(job, "the job goes back to the queue", lambda job: job["status"] == "queued", SOON)
        time.sleep(LEASE)
        site.relay.heal()
        site.succeeded(job)
        by_attempt = {}
        for attempt, step in site.steps(job):
            by_attempt.setdefault(attempt, []).append(step)
        expect(all(steps == sorted(set(steps)) for steps in by_attempt.values()), f"steps are in order: {by_attempt}")
        expect(len(site.attempts(job)) == 2, "the second attempt ends it")


def answers_are_lost(options):
    """With answers lost on the way, now and then, each step is still reported once, and the job succeeds at once."""
    with Site(options, relayed=True).start() as site:
        site.until("it registers", lambda: [d for d in site.get("/v1/devices")["data"] if d["status"] == "idle"])
        site.relay.loses_every = 7
        job = site.submit()
        site.succeeded(job)
        site.relay.loses_every = 0
        steps = [step for _, step in site.steps(job)]
        expect(steps == sorted(set(steps)), f"steps are reported once and in order: {steps}")
        expect(len(site.attempts(job)) == 1, "it is one attempt")


def server_is_killed(options):
    """A server that is killed and comes back finds the job going on: the same attempt, each step once."""
    with Site(options).start() as site:
        job = site.submit(steps=60)
        site.at_step(job, 4)
        os.killpg(site.server.pid, signal.SIGKILL)
        site.server.wait()
        time.sleep(LEASE - 1)
        site.serve()
        site.succeeded(job)
        steps = [step for _, step in site.steps(job)]
        expect(steps == sorted(set(steps)) and steps[-1] == 60, f"steps are reported once and in order: {steps}")
        expect(len(site.attempts(job)) == 1, "it is the same attempt")


def it_is_asked_to_end(options):
    """On SIGTERM it saves its job, gives it back and ends well; another one goes on from there."""
    with Site(options).start() as site:
        job = site.submit(steps=60)
        step = site.at_step(job, 5)["step"]
        os.kill(site.worker.pid, signal.SIGTERM)
        try:
            code = site.worker.wait(timeout=60)
        except subprocess.TimeoutExpired as error:
            raise Failed("it ends within 60 s") from error
        expect(code == 0, f"it ends with 0, and not {code}")
        site.until_job(job, "the job is back in the queue", lambda job: job["status"] == "queued", SOON)
        site.start()
        site.succeeded(job)
        first = site.attempts(job)[0]["first_step"]
        expect(first >= step, f"it was saved when it was asked to: first_step is {first}, and step {step} had been told")


def it_is_killed(options):
    """Killed, its job goes back after the lease and is done by the next one."""
    with Site(options).start() as site:
        job = site.submit()
        site.at_step(job, 4)
        os.killpg(site.worker.pid, signal.SIGKILL)
        site.worker.wait()
        site.until_job(job, "the job goes back to the queue", lambda job: job["status"] == "queued", SOON)
        site.start()
        site.succeeded(job)


def its_key_is_revoked(options):
    """When its key is revoked it ends, and not well."""
    with Site(options).start() as site:
        job = site.submit(steps=60)
        site.at_step(job, 2)
        keys = site.get("/v1/api-keys")["data"]
        key = next(key["id"] for key in keys if key["name"] == "agent")
        site.post(f"/v1/api-keys/{key}/revoke")
        try:
            code = site.worker.wait(timeout=60)
        except subprocess.TimeoutExpired as error:
            raise Failed("it ends within 60 s") from error
        expect(code != 0, "it ends with another code than 0")
        site.until_job(job, "the job goes back to the queue", lambda job: job["status"] == "queued", SOON)


def its_machine_is_drained(options):
    """When its machine is drained it saves its job and lets go of it, takes none, and takes it again afterwards."""
    with Site(options).start() as site:
        job = site.submit(steps=60)
        site.at_step(job, 2)
        site.post("/v1/hosts/under-test/drain")

        def is_empty():
            hosts = site.get("/v1/hosts")["data"]
            return [host for host in hosts if host["id"] == "under-test" and host["status"] == "drained"]

        site.until("the machine is empty", is_empty, SOON)
        expect(site.job(job)["status"] == "queued", "the job waits")
        time.sleep(2)
        expect(site.job(job)["status"] == "queued", "the job waits as long as the machine is drained")
        site.post("/v1/hosts/under-test/uncordon")
        site.succeeded(job)


CHECKS = [
    it_registers,
    a_job_is_run,
    what_is_asked_is_done,
    cut_off,
    answers_are_lost,
    server_is_killed,
    it_is_asked_to_end,
    it_is_killed,
    its_key_is_revoked,
    its_machine_is_drained,
]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--anneal", default="anneal", help="the program of the server [anneal]")
    parser.add_argument("--exact", action="store_true", help="the weights must have the server's bits")
    parser.add_argument("--only", default="", metavar="TEXT", help="only the checks with this in their names")
    parser.add_argument("--verbose", action="store_true", help="show what the worker writes")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="-- and the command that runs the worker")
    options = parser.parse_args()
    options.command = options.command[1:] if options.command[:1] == ["--"] else options.command
    if not options.command:
        parser.error("behind -- must stand the command that runs the worker")
    failed = 0
    for check in (check for check in CHECKS if options.only in check.__name__):
        began = time.monotonic()
        try:
            check(options)
            word = "ok"
        except Failed as error:
            word, failed = f"FAILED: {error}", failed + 1
        print(f"{check.__name__} ({time.monotonic() - began:.0f} s): {word}", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
