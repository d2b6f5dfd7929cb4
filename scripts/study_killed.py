#!/usr/bin/env python3
"""The whole study, tiny, on a server that runs: once undisturbed, and once with the study, the server and its workers killed
amid it, which then go on with the same commands. Both must end with the same results.

    scripts/study_killed.py target/debug/anneal
"""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

STUDY = Path(__file__).resolve().parent.parent / "examples/study/run.py"
# So many jobs its sweeps have at least.
JOBS = 60
# The longest that anything here is waited for.
SECONDS = 1800
# What two runs of the same work do not share.
OWN = ("build", "machine", "date", "job", "wall_seconds")


def wait(what, holds):
    until = time.monotonic() + SECONDS
    while not holds():
        if time.monotonic() > until:
            sys.exit(f"{what} took more than {SECONDS} s")
        time.sleep(0.05)


class Server:
    """`anneal serve` on one port and one data directory, whoever kills it."""

    def __init__(self, program, folder):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{probe.getsockname()[1]}"
        data = ["--data-dir", str(folder), "--devices", "cpu", "--log", "error"]
        self.command = [str(program), "serve", "--listen", self.address, *data]
        self.start()

    def start(self):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("ANNEAL_")}
        # A group of its own, with its workers.
        self.process = subprocess.Popen(
            self.command, env=environment, stdout=subprocess.DEVNULL, start_new_session=True
        )
        wait("the start of the server", self.answers)

    def answers(self):
        if self.process.poll() is not None:
            sys.exit(f"the server ended with code {self.process.returncode}")
        try:
            return urllib.request.urlopen(f"http://{self.address}/healthz", timeout=5).status == 200
        except OSError:
            return False

    def kill(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def study(server, out):
    command = [sys.executable, str(STUDY), "--smoke", "--server", f"http://{server.address}", "--out", str(out)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL)


def known(out):
    return sorted((out / "smoke/runs").glob("*.json"))


def records(out):
    """What was found, without what differs between two runs of the same work."""
    found = {}
    for path in known(out):
        record = {name: value for name, value in json.loads(path.read_text()).items() if name not in OWN}
        record["series"] = {name: series for name, series in record["series"].items() if not name.startswith("time/")}
        found[path.name] = record
    return found


def main():
    program = Path(sys.argv[1] if len(sys.argv) > 1 else "target/debug/anneal").resolve()
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        whole = undisturbed(program, folder)
        before, killed = disturbed(program, folder, len(whole))
    if len(whole) < JOBS:
        sys.exit(f"these are {len(whole)} results, not {JOBS}")
    if not 2 <= before < len(whole):
        sys.exit("it was not killed amid its work")
    differing = [name for name in sorted({*whole, *killed}) if whole.get(name) != killed.get(name)]
    if differing:
        sys.exit(f"results differ: {', '.join(differing)}")
    print(f"{len(whole)} results are the same")


def ended(code, which):
    if code != 0:
        sys.exit(f"the study {which} ended with code {code}")


def undisturbed(program, folder):
    server = Server(program, folder / "whole")
    running = study(server, folder / "a")
    try:
        ended(running.wait(SECONDS), "that nobody disturbed")
    finally:
        running.kill()
        server.kill()
    return records(folder / "a")


def disturbed(program, folder, count):
    """How many results there were at the first kill, and all of them in the end."""
    server, out = Server(program, folder / "killed"), folder / "b"
    running = study(server, out)
    try:
        wait("the first results", lambda: len(known(out)) >= 2)
        running.kill()
        running.wait()
        server.kill()
        before = len(known(out))
        print(f"killed study and server after {before} of {count} results", flush=True)
        server.start()
        running = study(server, out)
        for more in (4, 8, 30, 40):
            wait("more results", lambda: len(known(out)) >= before + more or running.poll() is not None)
            # Its workers alone at first, then all of it, and the same later.
            if more in (4, 30):
                subprocess.run(["pkill", "-KILL", "-P", str(server.process.pid)], check=False)
                print(f"killed workers after {len(known(out))}", flush=True)
            else:
                server.kill()
                print(f"killed the server alone after {len(known(out))}", flush=True)
                server.start()
        ended(running.wait(SECONDS), "that was killed")
    finally:
        running.kill()
        server.kill()
    return before, records(out)


if __name__ == "__main__":
    main()
