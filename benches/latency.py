"""How long GET /v1/jobs/{id} takes while a job trains on every core, beside the same without a job under way.

    python3 benches/latency.py --anneal target/release/anneal

Prints one JSON object; times are milliseconds.
"""

import argparse
import http.client
import json
import subprocess
import tempfile
import time

SPEC = {
    "model": "builtin:arith-tiny",
    "dataset": {"train": "builtin:arithmetic"},
    "verifier": {"type": "numeric"},
    "objective": {"type": "grpo", "group_size": 8},
    "sampling": {"max_new_tokens": 6, "batch_size": 256},
    "train": {"steps": 100000, "prompts_per_step": 64},
}


class Server:
    """A server with a data directory of its own."""

    def __init__(self, program: str) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.port = 18473
        listen = f"127.0.0.1:{self.port}"
        command = [program, "serve", "--data-dir", self.folder.name, "--listen", listen, "--log", "warn"]
        self.process = subprocess.Popen(command)

    def request(self, method: str, path: str, body: dict | None = None) -> dict:
        """One request on a connection of its own, as curl makes it."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        headers = {"Content-Type": "application/json"}
        connection.request(method, path, body=json.dumps(body) if body else None, headers=headers)
        answer = json.loads(connection.getresponse().read())
        connection.close()
        return answer

    def wait(self) -> None:
        """Waits until the server answers."""
        for _ in range(200):
            try:
                self.request("GET", "/healthz")
                return
            except (ConnectionError, json.JSONDecodeError):
                time.sleep(0.1)
        raise SystemExit("the server does not answer")

    def times(self, path: str, count: int) -> dict:
        """Percentiles of so many requests, one every five milliseconds."""
        taken = []
        for _ in range(count):
            began = time.perf_counter()
            self.request("GET", path)
            taken.append(1e3 * (time.perf_counter() - began))
            time.sleep(0.005)
        taken.sort()
        return {f"p{p}": round(taken[min(count - 1, count * p // 100)], 2) for p in (50, 90, 99)} | {
            "max": round(taken[-1], 2)
        }


def main() -> None:
    """Measures idle, then under load."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--anneal", required=True, help="the anneal program, built for release")
    parser.add_argument("--requests", type=int, default=2000)
    args = parser.parse_args()
    server = Server(args.anneal)
    try:
        server.wait()
        job = server.request("POST", "/v1/jobs", SPEC)["id"]
        path = f"/v1/jobs/{job}"
        while server.request("GET", path)["status"] != "running":
            time.sleep(0.1)
        time.sleep(3)
        training = server.times(path, args.requests)
        server.request("POST", f"{path}/cancel")
        while server.request("GET", path)["status"] != "cancelled":
            time.sleep(0.1)
        idle = server.times(path, args.requests)
        print(json.dumps({"requests": args.requests, "training_ms": training, "idle_ms": idle}))
    finally:
        server.process.terminate()
        server.process.wait()


if __name__ == "__main__":
    main()
