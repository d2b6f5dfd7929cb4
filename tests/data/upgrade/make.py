#!/usr/bin/env python3
"""Makes a data directory as a release leaves it that was killed in the middle of its work, for tests/upgrade.rs.

    make.py ANNEAL OUT.tar

ANNEAL is the program of that release. The directory has an imported model, a data set, a stored verifier, a finished
job with a kept rollout set, a finished rollout set, a finished evaluation, a job that is running, one that is paused,
and queued ones of every kind. The digests that the unfinished jobs end with under the same program, undisturbed, are in
`expected.json` beside it. Needs nothing but Python.
"""
import http.client
import json
import os
import random
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

ASSETS = Path(__file__).resolve().parents[3] / "assets" / "arith-tiny"
WAIT = 120.0


def write_model(folder: Path) -> None:
    """A decoder of 6,000 parameters with the built-in model's tokenizer and weights from a fixed seed."""
    config = json.loads((ASSETS / "config.json").read_text())
    hidden, inner, heads, kv, width = 16, 32, 2, 1, 8
    config |= {"hidden_size": hidden, "intermediate_size": inner, "num_hidden_layers": 2, "num_attention_heads": heads,
               "num_key_value_heads": kv, "head_dim": width, "torch_dtype": "float32"}
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config))
    shutil.copy(ASSETS / "tokenizer.json", folder)
    shapes = {"model.embed_tokens.weight": [config["vocab_size"], hidden], "model.norm.weight": [hidden]}
    for layer in range(2):
        at = f"model.layers.{layer}."
        shapes |= {
            at + "input_layernorm.weight": [hidden], at + "post_attention_layernorm.weight": [hidden],
            at + "mlp.down_proj.weight": [hidden, inner], at + "mlp.gate_proj.weight": [inner, hidden],
            at + "mlp.up_proj.weight": [inner, hidden], at + "self_attn.q_proj.weight": [heads * width, hidden],
            at + "self_attn.k_proj.weight": [kv * width, hidden], at + "self_attn.v_proj.weight": [kv * width, hidden],
            at + "self_attn.o_proj.weight": [hidden, heads * width],
        }
    numbers, header, data = random.Random(7), {}, b""
    for name, shape in shapes.items():
        count = shape[0] * (shape[1] if len(shape) > 1 else 1)
        values = [1.0] * count if len(shape) == 1 else [numbers.gauss(0.0, 0.2) for _ in range(count)]
        begin = len(data)
        data += struct.pack(f"<{count}f", *values)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [begin, len(data)]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)


class Server:
    def __init__(self, program: str, data: Path, roots: Path):
        arguments = [program, "serve", "--data-dir", str(data), "--listen", "127.0.0.1:0", "--devices", "cpu",
                     "--threads", "1", "--import-roots", str(roots)]
        self.process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                        start_new_session=True)
        for line in self.process.stdout:
            if "http://127.0.0.1:" in line:
                self.port = int(line.split("http://127.0.0.1:")[1].split("/")[0].split('"')[0].split()[0])
                return
        raise SystemExit("the server did not start")

    def call(self, method: str, path: str, body=None, raw: bytes | None = None, kind: str = "application/json"):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        payload = raw if raw is not None else (None if body is None else json.dumps(body).encode())
        connection.request(method, path, payload, {"Content-Type": kind} if payload is not None else {})
        answer = connection.getresponse()
        text = answer.read()
        if answer.status >= 400:
            raise SystemExit(f"{method} {path}: {answer.status} {text.decode()}")
        return json.loads(text)

    def wait(self, job: str, holds) -> dict:
        end = time.monotonic() + WAIT
        while time.monotonic() < end:
            row = self.call("GET", f"/v1/jobs/{job}")
            if holds(row):
                return row
            time.sleep(0.02)
        raise SystemExit(f"{job} did not get there: {row['status']}")

    def finish(self, job: str) -> dict:
        row = self.wait(job, lambda row: row["finished_at"] is not None)
        if row["status"] != "succeeded":
            raise SystemExit(f"{job}: {row['failure']}")
        return row

    def kill(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def specs(model: str, rows: str, verifier: str) -> dict:
    training = {"model": model, "dataset": {"train": rows, "eval": rows}, "verifier": verifier,
                "sampling": {"max_new_tokens": 4, "batch_size": 16}, "optimizer": {"learning_rate": 0.001},
                "eval": {"prompts": 4, "samples": 2, "pass_at": [1]}, "checkpoints": {"every_steps": 20, "keep_last": 1}}
    long = {"steps": 400, "prompts_per_step": 4, "micro_batch_tokens": 256}
    grpo = {"type": "grpo", "group_size": 4}
    return {
        "finished": training | {"name": "finished", "objective": grpo, "rollouts": {"keep": True},
                                "train": long | {"steps": 2}},
        "running": training | {"name": "running", "objective": grpo, "train": long, "seed": 1, "priority": 3,
                               "metadata": {"note": model}},
        "paused": training | {"name": "paused", "objective": {"type": "bolt", "group_size": 4, "rounds": 100},
                              "train": long, "seed": 2, "budget": {"device_seconds": 5000}},
        "queued": training | {"name": "queued", "objective": {"type": "vopd", "teacher": model, "group_size": 2},
                              "train": long | {"steps": 3}, "seed": 3},
    }


def main() -> None:
    program, out = sys.argv[1], Path(sys.argv[2]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        roots, data = Path(folder) / "import", Path(folder) / "data"
        write_model(roots / "mini")
        server = Server(program, data, roots)
        model = server.call("POST", "/v1/models", {"path": str(roots / "mini"), "name": "mini"})["id"]
        lines = "".join(json.dumps({"prompt": f"{a}+{b}=", "answer": str(a + b)}) + "\n"
                        for a in range(8) for b in range(8))
        rows = server.call("POST", "/v1/datasets?name=sums", raw=lines.encode(), kind="application/jsonl")
        rows = rows["latest"]["id"]
        verifier = server.call("POST", "/v1/verifiers", {"name": "sums", "config": {"type": "numeric"}})["id"]
        jobs = specs(model, rows, verifier)
        sampling = {"model": model, "dataset": {"train": rows}, "verifier": verifier, "group_size": 2, "prompts": 4,
                    "sampling": {"max_new_tokens": 4}}
        evaluation = {"model": model, "dataset": rows, "verifier": verifier, "samples": 2, "prompts": 4,
                      "sampling": {"max_new_tokens": 4}}

        def submit(spec) -> str:
            return server.call("POST", "/v1/jobs", spec)["id"]

        done = [submit(jobs["finished"]), server.call("POST", "/v1/rollout-sets", sampling)["job"],
                server.call("POST", "/v1/evaluations", evaluation)["job"]]
        for job in done:
            server.finish(job)
        expected = {name: server.finish(submit(jobs[name]))["result"]["weights_sha256"]
                    for name in ("running", "paused", "queued")}
        for row in server.call("GET", "/v1/jobs?limit=100")["data"]:
            if row["name"] in expected:
                server.call("DELETE", f"/v1/jobs/{row['id']}")

        paused = submit(jobs["paused"])
        server.wait(paused, lambda row: row["step"] >= 30)
        server.call("POST", f"/v1/jobs/{paused}/pause")
        server.wait(paused, lambda row: row["status"] == "paused")
        running = submit(jobs["running"])
        server.wait(running, lambda row: row["step"] >= 5)
        queued = {"queued": submit(jobs["queued"]),
                  "rollouts": server.call("POST", "/v1/rollout-sets", sampling | {"seed": 1})["job"],
                  "evaluation": server.call("POST", "/v1/evaluations", evaluation | {"seed": 1})["job"]}
        server.wait(running, lambda row: row["step"] >= 30)
        server.kill()

        database = sqlite3.connect(data / "anneal.db")
        database.execute("vacuum")
        database.execute("pragma wal_checkpoint(truncate)")
        states = dict(database.execute("select id, status from job"))
        database.close()
        assert states[running] == "running" and states[paused] == "paused", states
        for leftover in ("anneal.db-wal", "anneal.db-shm", "server.lock"):
            (data / leftover).unlink(missing_ok=True)
        shutil.rmtree(data / "inference", ignore_errors=True)
        expected = {"weights_sha256": expected, "finished": done, "running": running, "paused": paused} | queued
        (data / "expected.json").write_text(json.dumps(expected, indent=1))
        with tarfile.open(out, "w") as archive:
            archive.add(data, arcname="data", filter=lambda entry: setattr(entry, "uid", 0) or entry)
    print(f"{out}: {out.stat().st_size} bytes")


if __name__ == "__main__":
    main()
