"""Trackio imports a job's metrics, and pandas reads the tables of metrics, completions and evaluations: tables.py BASE_URL"""

import io
import json
import os
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

folder = Path(tempfile.mkdtemp())
os.environ["TRACKIO_DIR"] = str(folder / "trackio")

import pandas  # noqa: E402
import trackio  # noqa: E402
from trackio import utils  # noqa: E402
from trackio.sqlite_storage import SQLiteStorage  # noqa: E402

[BASE] = sys.argv[1:]


def ask(path, body=None):
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(BASE + path, data), timeout=120) as answer:
        return answer.read()


def finish(job):
    while (status := json.loads(ask(f"/v1/jobs/{job}"))["status"]) not in ("succeeded", "failed", "cancelled"):
        time.sleep(0.2)
    assert status == "succeeded", status


def table(path):
    return pandas.read_parquet(io.BytesIO(ask(path)))


common = {"model": "builtin:arith-tiny", "verifier": {"type": "numeric"}, "sampling": {"max_new_tokens": 6}}
sums = {"dataset": {"train": "builtin:arithmetic"}}
job = json.loads(ask("/v1/jobs", {
    **common, **sums, "objective": {"type": "grpo", "group_size": 2}, "train": {"steps": 20, "prompts_per_step": 4},
    "eval": {"prompts": 8, "samples": 2, "pass_at": [1], "before": False},
}))["id"]
rollouts = json.loads(ask("/v1/rollout-sets", {**common, **sums, "group_size": 4, "prompts": 32}))
evaluation = json.loads(ask("/v1/evaluations", {**common, "dataset": "builtin:arithmetic", "prompts": 32, "samples": 4}))
for one in (job, rollouts["job"], evaluation["job"]):
    finish(one)

# Trackio, from the file that every tracker reads.
(folder / "metrics.csv").write_bytes(ask(f"/v1/jobs/{job}/metrics?format=csv"))
trackio.import_csv(folder / "metrics.csv", project="anneal", name="sums")
series = {one["name"]: one for one in json.loads(ask(f"/v1/jobs/{job}/metrics"))["series"]}
logged = SQLiteStorage.get_logs("anneal", "sums")
# Trackio cuts names that it reads from CSV at ten characters.
called = utils.simplify_column_names(list(series))
for name in ("loss", "reward/mean", "kl/reference"):
    found = [(log["step"], log[called[name]]) for log in logged if log.get(called[name]) is not None]
    assert found == list(zip(series[name]["steps"], series[name]["values"])), (name, found[:3])

metrics = table(f"/v1/jobs/{job}/metrics?format=parquet")
for name, one in series.items():
    own = metrics[metrics.name == name]
    assert own.step.tolist() == one["steps"] and own.value.tolist() == one["values"], name

path = f"/v1/rollout-sets/{rollouts['id']}"
lines = [json.loads(line) for line in ask(f"{path}/files/rollouts.jsonl").splitlines()]
completions = table(f"{path}/rollouts.parquet")
assert len(completions) == len(lines) == 128
for (_, row), line in zip(completions.iterrows(), lines):
    for column in ("group", "sample", "row", "step", "prompt", "completion", "reward", "status", "finish", "entropy_sum"):
        assert row[column] == line[column], (column, row[column], line[column])
    assert row.tokens.tolist() == line["tokens"] and row.prompt_tokens.tolist() == line["prompt_tokens"]
    assert all(abs(a - b) < 1e-6 for a, b in zip(row.logprobs, line["logprobs"], strict=True))
assert completions.groupby("group").reward.mean().mean() == completions.reward.mean()

results = table(f"/v1/evaluations/{evaluation['id']}/results.parquet")
found = json.loads(ask(f"/v1/evaluations/{evaluation['id']}"))["result"]
assert len(results) == 32 and (results.samples == 4).all()
assert abs((results.passed / results.samples).mean() - found["pass_at"][0]["mean"]) < 1e-9, found["pass_at"]
print(f"ok: {len(metrics)} points, {len(completions)} completions, {len(results)} prompts")
