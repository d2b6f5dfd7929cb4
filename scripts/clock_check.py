#!/usr/bin/env python3
"""Sets the clock of a server and its workers while a job runs, and looks that nothing is counted for it.

    python3 scripts/clock_check.py

Needs libfaketime (Debian: faketime) and target/debug/anneal (or $ANNEAL_BIN). Takes about half a minute.
"""

import glob
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = os.environ.get("ANNEAL_BIN", str(ROOT / "target/debug/anneal"))
SPEC = {
    "model": "builtin:arith-tiny", "dataset": {"train": "builtin:arithmetic"}, "verifier": {"type": "numeric"},
    "objective": {"type": "bolt", "group_size": 4, "rounds": 5000},
    "sampling": {"max_new_tokens": 5, "batch_size": 64},
    "train": {"steps": 20000, "prompts_per_step": 16, "micro_batch_tokens": 256},
    "checkpoints": {"every_steps": 50}, "budget": {"device_seconds": 600},
}
PATIENCE = 60


class Server:
    """A server whose clock is this machine's plus what a file says."""

    def __init__(self, library, offset, data):
        environment = os.environ | {"LD_PRELOAD": library, "FAKETIME_TIMESTAMP_FILE": str(offset),
                                    "FAKETIME_NO_CACHE": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
        command = [PROGRAM, "serve", "--listen", "127.0.0.1:0", "--log", "error", "--devices", "cpu",
                   "--data-dir", str(data)]
        self.process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                        text=True, start_new_session=True)
        self.base = re.search(r"http://\S+", self.process.stdout.readline()).group(0)

    def ask(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data, {"content-type": "application/json"}, method=method)
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    def until(self, job, what, holds):
        end = time.monotonic() + PATIENCE
        while not holds(row := self.ask("GET", f"/v1/jobs/{job}")):
            if time.monotonic() > end or row["status"] == "failed":
                sys.exit(f"not {what}: {json.dumps(row, indent=1)}")
            time.sleep(0.1)
        return row

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """Ends it with its workers, as a power cut would."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def main():
    libraries = glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")
    if not libraries:
        sys.exit("libfaketime is not there: apt-get install faketime")
    with tempfile.TemporaryDirectory() as folder:
        offset, data = Path(folder, "offset"), Path(folder, "data")

        def set_clock(text):
            temporary = offset.with_suffix(".tmp")
            temporary.write_text(text + "\n")
            temporary.rename(offset)

        set_clock("+0")
        with Server(libraries[0], offset, data) as server:
            job = server.ask("POST", "/v1/jobs", SPEC)["id"]
            row = server.until(job, "running", lambda row: row["step"] > 0)
            for jump in ("+7200", "+14400", "+21600", "+14400", "-7200"):
                set_clock(jump)
                step = row["step"]
                time.sleep(3)
                row = server.until(job, f"going on after {jump}",
                                   lambda row: row["status"] == "running" and row["step"] > step)
                assert row["attempt"] == 1 and 0 < row["device_seconds"] < 120, row
            moved, after, more = [], 0, True
            while more:
                page = server.ask("GET", f"/v1/jobs/{job}/events?limit=200&after={after}")
                moved += [event["message"] for event in page["data"] if event["data"].get("code") == "clock_moved"]
                after, more = page["data"][-1]["seq"], page["has_more"]
            assert len(moved) == 5, moved
            print(f"five jumps of two to eight hours: attempt 1, {row['device_seconds']:.1f} device seconds;", moved[0])

        # A power cut, and a clock that comes back two hours behind.
        set_clock("-14400")
        with Server(libraries[0], offset, data) as server:
            server.until(job, "taken up again", lambda row: row["attempt"] == 2 and row["status"] == "running")
            server.ask("POST", f"/v1/jobs/{job}/cancel", {})
            server.until(job, "cancelled", lambda row: row["status"] == "cancelled")
        print("after a kill, with the clock two hours behind: taken up again, and cancelled")


if __name__ == "__main__":
    main()
