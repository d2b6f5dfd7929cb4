#!/usr/bin/env python3
"""Whether one project's keys and strangers can keep another project from the server: 2,000 connections of one address that
say nothing or little, eight keys of one project, each over four connections, that ask for what costs most, among it a model
whose template takes all memory, and beside them a client of another project that asks for its job.

    python3 scripts/siege.py [--seconds 20] [--json FILE]

Fails when the client's requests take more than 50 ms at the 99th percentile, when one fails, when more than one job comes
before its own, or when the server ends. The attackers have the lowest priority of this
machine: others bring machines of their own. Needs target/release/anneal (or $ANNEAL_BIN). Takes about two minutes.
"""

import argparse
import http.client
import json
import os
import random
import re
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = os.environ.get("ANNEAL_BIN", str(ROOT / "target/release/anneal"))
CONNECTIONS = 2000
KEYS = 8
# Connections of each key, beside its streams.
HANDS = 4
ELSEWHERE = "127.0.0.2"
MOST_MS = 50
DOUBLING = ("{% set ns = namespace(x='ab') %}{% for i in range(60) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}")
SPEC = {"model": "builtin:arith-tiny", "dataset": {"train": "builtin:arithmetic"}, "verifier": {"type": "numeric"},
        "objective": {"type": "bolt", "group_size": 4, "rounds": 2}, "sampling": {"max_new_tokens": 6},
        "train": {"steps": 12, "prompts_per_step": 16}}


def key(data, project, scopes):
    return subprocess.run([PROGRAM, "keys", "create", "siege", "--project", project, "--scopes", scopes, "--local",
                           "--data-dir", data], capture_output=True, text=True, check=True).stdout.strip()


class Client:
    """Requests with one key over a connection that is kept."""

    def __init__(self, port, token, source="127.0.0.1", timeout=60):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout, source_address=(source, 0))
        self.headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}

    def ask(self, method, path, body=None):
        """Status and answer."""
        if body is not None and not isinstance(body, (str, bytes)):
            body = json.dumps(body)
        self.connection.request(method, path, body, self.headers)
        answer = self.connection.getresponse()
        return answer.status, answer.read()


def hostile_model(folder):
    shutil.copytree(ROOT / "assets/arith-tiny", folder)
    (folder / "chat_template.jinja").write_text(
        "{% if messages[0].content == 'now' %}" + DOUBLING + "{% endif %}{{ messages[0].content }}")
    return str(folder)


def strangers(port, stop):
    """Connections that are silent or send a head byte by byte, opened again when they are closed."""
    held = []
    while not stop.is_set():
        held = [connection for connection in held if not is_closed(connection)]
        while len(held) < CONNECTIONS and not stop.is_set():
            try:
                connection = socket.create_connection(("127.0.0.1", port), 5, (ELSEWHERE, 0))
            except OSError:
                break
            connection.setblocking(False)
            held.append(connection)
        for connection in random.sample(held, min(len(held), 200)):
            try:
                connection.send(b"G")
            except OSError:
                pass
        stop.wait(0.2)


def is_closed(connection):
    try:
        if connection.recv(4096):
            return False
    except BlockingIOError:
        return False
    except OSError:
        pass
    connection.close()
    return True


def attacks(model, dataset):
    """What the keys ask for, one after the other."""
    regex = {"type": "regex", "pattern": "(?:[ab]{1,120}c?){1,40}d", "time_limit_seconds": 10}
    samples = [{"completion": "ab" * 200_000}]
    grader = {"grader": {"type": "text_similarity", "name": "g", "input": "ab" * 4000, "reference": "ba" * 4000,
                         "evaluation_metric": "fuzzy_match", "pass_threshold": 0.5}, "model_sample": "a"}
    poisoned = {**SPEC, "model": model, "dataset": {"train": dataset}}
    return [
        ("GET", "/v1/jobs?limit=100", None),
        ("POST", "/v1/jobs", {**SPEC, "priority": 2**31 - 1}),
        ("POST", "/v1/jobs?dry_run=preflight", poisoned),
        ("POST", "/v1/verifiers", {"config": regex}),
        ("POST", "/v1/verifiers/{verifier}/test", {"completions": samples}),
        ("POST", "/v1/fine_tuning/alpha/graders/run", grader),
        ("POST", "/v1/chat/completions", {"model": "builtin:arith-tiny", "max_tokens": 64,
                                          "messages": [{"role": "user", "content": "1+1="}]}),
        ("POST", "/v1/jobs", "[" + "[]," * 300_000 + "[]]"),
        ("POST", "/v1/webhook_endpoints", {"url": "https://10.255.255.1/"}),
        ("GET", "/v1/audit-log", None),
        ("GET", "/metrics", None),
    ]


def besiege(port, token, what, statuses, stop):
    client, verifier, streams = Client(port, token, ELSEWHERE), None, []
    while not stop.is_set():
        method, path, body = random.choice(what)
        if "{verifier}" in path and verifier is None:
            continue
        try:
            if random.random() < 0.2 and len(streams) < 200:
                stream = Client(port, token, ELSEWHERE)
                stream.connection.request("GET", "/v1/events", headers={**stream.headers, "accept": "text/event-stream"})
                streams.append(stream)
            status, answer = client.ask(method, path.replace("{verifier}", verifier or ""), body)
            statuses[status] = statuses.get(status, 0) + 1
            if path == "/v1/verifiers" and status == 201:
                verifier = json.loads(answer)["id"]
        except (OSError, http.client.HTTPException):
            client = Client(port, token, ELSEWHERE)


def percentile(times, share):
    return sorted(times)[min(len(times) - 1, int(len(times) * share))]


def latencies(client, job, seconds):
    """Milliseconds of requests for a job, twenty-five a second."""
    times, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        began = time.monotonic()
        status, answer = client.ask("GET", f"/v1/jobs/{job}")
        times.append((time.monotonic() - began) * 1e3)
        assert status == 200, (status, answer)
        time.sleep(0.04)
    return times


def run_job(client):
    """A job from its submission to its end: its id, its place in the queue at first, and the seconds until it started and
    ended."""
    began = time.monotonic()
    status, answer = client.ask("POST", "/v1/jobs", SPEC)
    assert status == 201, answer
    job, place, started = json.loads(answer)["id"], None, None
    while True:
        state = json.loads(client.ask("GET", f"/v1/jobs/{job}")[1])
        if place is None:
            place = (state.get("waiting") or {}).get("position", 0)
        if started is None and state["status"] != "queued":
            started = time.monotonic() - began
        if state["status"] in ("succeeded", "failed", "cancelled"):
            assert state["status"] == "succeeded", state
            return job, place, started, time.monotonic() - began
        time.sleep(0.05)


def besiegers(port, tokens, model, dataset):
    """The attack, in a process of its own."""
    os.nice(19)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    stop, statuses = threading.Event(), {}
    what = attacks(model, dataset)
    threads = [threading.Thread(target=strangers, args=(port, stop))]
    threads += [threading.Thread(target=besiege, args=(port, token, what, statuses, stop)) for token in tokens * HANDS]
    for thread in threads:
        thread.daemon = True
        thread.start()
    sys.stdin.readline()
    stop.set()
    print(json.dumps(statuses), flush=True)
    os._exit(0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        data, models = str(folder / "data"), folder / "models"
        models.mkdir()
        model = hostile_model(models / "hostile")
        key(data, "default", "read,write,admin")
        honest = key(data, "honest", "read,write")
        hostile = [key(data, "hostile", "read,write,admin") for _ in range(KEYS)]
        server = subprocess.Popen([PROGRAM, "serve", "--listen", "127.0.0.1:0", "--log", "error", "--devices", "cpu",
                                   "--import-roots", str(models), "--data-dir", data],
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            told = siege(arguments, server, honest, hostile, model)
        finally:
            server.terminate()
            server.wait(120)
    print(json.dumps(told, indent=2))
    if arguments.json:
        arguments.json.write_text(json.dumps(told))
    assert told["besieged_p99_ms"] < MOST_MS, "requests of another project are slow"
    assert sum(told["answers_to_attackers"].values()) > 100, "the attackers did next to nothing"
    assert told["place_in_queue"] <= 2, "a job of another project is delayed"


def siege(arguments, server, honest, hostile, model):
    port = int(re.search(r":(\d+)", server.stdout.readline().split("//")[1]).group(1))
    client = Client(port, honest)
    job, _, _, alone = run_job(client)
    quiet = latencies(client, job, arguments.seconds / 2)

    bad = Client(port, hostile[0], ELSEWHERE)
    status, answer = bad.ask("POST", "/v1/models", {"path": model})
    assert status == 201, answer
    model = json.loads(answer)["id"]
    rows = '{"prompt": "1+1=", "answer": "2"}\n{"prompt": "now", "answer": "2"}\n'
    bad.headers["content-type"] = "application/jsonl"
    status, answer = bad.ask("POST", "/v1/datasets?name=bad", rows)
    assert status == 201, answer
    dataset = json.loads(answer)["id"]

    command = [sys.executable, __file__, "--besiege", str(port), model, dataset, *hostile]
    attack = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    time.sleep(5)
    besieged = latencies(client, job, arguments.seconds)
    watched = Client(port, honest)
    times, failures = [], []
    stop = threading.Event()

    def watch():
        try:
            while not stop.is_set():
                times.extend(latencies(watched, job, 1))
        except Exception as error:
            failures.append(error)

    watcher = threading.Thread(target=watch)
    watcher.start()
    _, place, started, took = run_job(client)
    stop.set()
    watcher.join()
    assert not failures, failures
    statuses, _ = attack.communicate("\n", timeout=60)
    assert server.poll() is None, "the server has ended"
    memory = int(re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{server.pid}/status").read_text()).group(1)) / 1024
    return {
        "quiet_p50_ms": round(percentile(quiet, 0.5), 2), "quiet_p99_ms": round(percentile(quiet, 0.99), 2),
        "besieged_p50_ms": round(percentile(besieged + times, 0.5), 2),
        "besieged_p99_ms": round(percentile(besieged + times, 0.99), 2),
        "requests": len(besieged + times), "server_peak_mib": round(memory),
        "job_alone_s": round(alone, 2), "job_besieged_s": round(took, 2), "job_started_after_s": round(started, 2),
        "place_in_queue": place, "answers_to_attackers": json.loads(statuses),
    }


if __name__ == "__main__":
    if sys.argv[1:2] == ["--besiege"]:
        besiegers(int(sys.argv[2]), sys.argv[5:], sys.argv[3], sys.argv[4])
    else:
        main()
