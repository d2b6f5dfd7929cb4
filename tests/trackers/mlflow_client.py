"""MLflow's client reads jobs as runs: mlflow_client.py BASE_URL"""

import hashlib
import json
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import mlflow
from mlflow import MlflowClient
from mlflow.exceptions import MlflowException

BASE = sys.argv[1]


def ask(path, body=None):
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(BASE + path, data), timeout=120) as answer:
        return json.load(answer)


spec = {
    "model": "builtin:arith-tiny",
    "dataset": {"train": "builtin:arithmetic"},
    "verifier": {"type": "numeric"},
    "objective": {"type": "grpo", "group_size": 2},
    "sampling": {"max_new_tokens": 6},
    "train": {"steps": 6, "prompts_per_step": 4},
    "eval": {"prompts": 8, "samples": 2, "pass_at": [1], "before": False},
    "metadata": {"commit": "abc"},
}
sweep = ask("/v1/sweeps", {"name": "rates", "spec": spec, "grid": {"/optimizer/learning_rate": [0.0001, 0.001]}, "seeds": [1]})
while ask(f"/v1/sweeps/{sweep['id']}")["status"] != "finished":
    time.sleep(0.2)

client = MlflowClient()
names = {experiment.name: experiment.experiment_id for experiment in client.search_experiments()}
assert names == {"default": "0", f"rates ({sweep['id']})": sweep["id"]}, names
for name, experiment in names.items():
    assert client.get_experiment(experiment).name == name
    assert client.get_experiment_by_name(name).experiment_id == experiment

trials = [trial["job"] for trial in sweep["trials"]]
runs = client.search_runs([sweep["id"]])
assert {run.info.run_id for run in runs} == set(trials)
everything = client.search_runs(["0"], max_results=1)
assert len(everything) == 1 and everything.token, "pages go on"
seen = [everything[0].info.run_id]
while everything.token:
    everything = client.search_runs(["0"], max_results=1, page_token=everything.token)
    seen += [run.info.run_id for run in everything]
jobs = [job["id"] for job in ask("/v1/jobs?kind=train&limit=100")["data"]]
assert seen == jobs, (seen, jobs)

run = client.get_run(trials[1])
job = ask(f"/v1/jobs/{trials[1]}")
assert run.info.status == "FINISHED" and run.info.run_name == job["name"]
assert run.info.start_time // 1000 == job["started_at"] and run.info.end_time // 1000 == job["finished_at"]
assert run.data.params["optimizer.learning_rate"] == "0.001" and run.data.params["train.steps"] == "6", run.data.params
assert run.data.tags["commit"] == "abc"
series = {one["name"]: one for one in ask(f"/v1/jobs/{trials[1]}/metrics")["series"]}
assert run.data.metrics == {name: one["values"][-1] for name, one in series.items()}
for name, one in series.items():
    history = client.get_metric_history(trials[1], name)
    assert [(point.step, point.value) for point in history] == list(zip(one["steps"], one["values"])), name

# What the job has made.
manifest = ask(f"/v1/checkpoints/{job['result']['checkpoint']}")["files"]
found = {file.path: file.file_size for file in client.list_artifacts(trials[1])}
assert found == {file["path"]: file["size"] for file in manifest}, found
with tempfile.TemporaryDirectory() as folder:
    for file in manifest:
        path = client.download_artifacts(trials[1], file["path"], folder)
        assert hashlib.sha256(Path(path).read_bytes()).hexdigest() == file["sha256"], file

# Runs as a table, as notebooks read them.
table = mlflow.search_runs([sweep["id"]], output_format="list")
assert len(table) == 2
for wrong in (lambda: client.get_run("job_nothing"), lambda: client.search_runs(["7"]), lambda: client.log_metric(trials[0], "a", 1.0)):
    try:
        wrong()
        raise SystemExit("it was taken")
    except MlflowException:
        pass
print(f"ok: {len(seen)} runs, {len(series)} metrics")
