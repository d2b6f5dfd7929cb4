"""What sampling ahead (`train.max_lag`) gains on the CPU: steps of small jobs with it and without, in turn, and beside another program.

    python3 benches/ahead.py --anneal target/release/anneal [--other ../before/target/release/anneal] [--rounds 3] [--verdict 0.05]

A job's verdicts are there at once, or come from a service that takes `--verdict` seconds for each batch of 32. What is told is the
median time from the first step to the last one, with the weights' digest: a lag changes what is trained on, beside whom it runs does not.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

STEPS = 40


class Scorer(BaseHTTPRequestHandler):
    seconds = 0.0

    def do_POST(self):
        cases = json.loads(self.rfile.read(int(self.headers["content-length"])))["cases"]
        time.sleep(self.seconds)
        scores = [{"reward": float(case["completion"].strip() == case["answer"])} for case in cases]
        content = json.dumps({"scores": scores}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *of):
        pass


def ask(url, body=None):
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data, {"content-type": "application/json"}), timeout=600) as answer:
        return json.load(answer)


def seconds_of(program, settings, spec):
    """From the first step of a job to its last, and the digest of what it made."""
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "serve", "--supervised", "--listen", "127.0.0.1:0", "--config", settings, "--data-dir", folder]
        server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            base = next(word for word in server.stdout.readline().split() if word.startswith("http://")).rstrip("/")
            # Its worker has measured the machine when a first job is done.
            for steps in (2, STEPS):
                job = ask(f"{base}/v1/jobs", {**spec, "train": {**spec["train"], "steps": steps}})["id"]
                while (found := ask(f"{base}/v1/jobs/{job}/wait?timeout=60"))["status"] not in ("succeeded", "failed"):
                    pass
            if found["status"] == "failed":
                sys.exit(json.dumps(found["failure"]))
            times, after = [], 0
            while after is not None:
                page = ask(f"{base}/v1/jobs/{job}/events?limit=200&after={after}")
                times += [one["created_at"] for one in page["data"] if one["type"] == "metrics"]
                after = page["data"][-1]["seq"] if page["has_more"] else None
            begin, end = (datetime.fromisoformat(at.replace("Z", "+00:00")) for at in (times[0], times[-1]))
            kept = next(one for one in ask(f"{base}/v1/jobs/{job}/checkpoints")["data"] if one["kind"] == "inference")
            digest = next(file["sha256"] for file in kept["files"] if file["path"] == "model.safetensors")
            return (end - begin).total_seconds(), digest
        finally:
            server.stdin.close()
            server.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--anneal", required=True)
    parser.add_argument("--other", help="another program, which is to make the same weights")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--verdict", type=float, default=0.05, help="seconds of a batch of verdicts")
    arguments = parser.parse_args()
    Scorer.seconds = arguments.verdict
    service = ThreadingHTTPServer(("127.0.0.1", 0), Scorer)
    threading.Thread(target=service.serve_forever, daemon=True).start()
    runs = [("with", arguments.anneal, 1), ("without", arguments.anneal, 0)]
    runs += [("with, other", arguments.other, 1)] if arguments.other else []
    with tempfile.TemporaryDirectory() as folder:
        settings = Path(folder, "anneal.toml")
        url = f"http://127.0.0.1:{service.server_port}/"
        settings.write_text(f'[verifiers.services.slow]\nurl = "{url}"\nallow_private = ["127.0.0.1/32"]\n')
        for label, verifier in [("at once", {"type": "numeric"}), ("waited for", {"type": "http", "service": "slow", "batch_size": 32})]:
            times, digests = {name: [] for name, *_ in runs}, {}
            for _ in range(arguments.rounds):
                for name, program, lag in runs:
                    spec = {
                        "model": "builtin:arith-tiny",
                        "dataset": {"train": "builtin:arithmetic"},
                        "verifier": verifier,
                        "objective": {"type": "p3o", "group_size": 8},
                        "sampling": {"max_new_tokens": 8},
                        "train": {"prompts_per_step": 16, "max_lag": lag},
                        "optimizer": {"learning_rate": 1e-4},
                        "eval": {"before": False, "samples": 1, "prompts": 4, "pass_at": [1]},
                    }
                    seconds, digest = seconds_of(program, settings, spec)
                    times[name].append(seconds)
                    digests.setdefault(lag, set()).add(digest)
            if any(len(same) > 1 for same in digests.values()):
                sys.exit(f"the same job made different weights: {digests}")
            medians = {name: statistics.median(all) for name, all in times.items()}
            told = ", ".join(f"{name} {seconds:.2f} s ({seconds / medians['with']:.2f})" for name, seconds in medians.items())
            print(f"verdicts {label}: {told}", flush=True)


if __name__ == "__main__":
    main()
