"""TensorBoard reads what a job has measured: script.py BASE_URL PROGRAM"""

import json
import struct
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

BASE, PROGRAM = sys.argv[1:]


def ask(path, body=None):
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(BASE + path, data), timeout=120) as answer:
        return answer.read()


spec = {
    "name": "sums: lr/3e-4",
    "model": "builtin:arith-tiny",
    "dataset": {"train": "builtin:arithmetic"},
    "verifier": {"type": "numeric"},
    "objective": {"type": "grpo", "group_size": 2},
    "sampling": {"max_new_tokens": 6},
    "train": {"steps": 30, "prompts_per_step": 4},
    "eval": {"prompts": 8, "samples": 2, "pass_at": [1], "before": False},
}
job = json.loads(ask("/v1/jobs", spec))["id"]
folder = Path(tempfile.mkdtemp())
# It is there while the job runs, and ends with it.
subprocess.run([PROGRAM, "jobs", "tensorboard", "--server", BASE, "--dir", folder, job], check=True, timeout=240)
assert json.loads(ask(f"/v1/jobs/{job}"))["status"] == "succeeded"

[written] = folder.glob("*/events.out.tfevents.*")
assert written.parent.name == f"sums_ lr_3e-4 {job}", written
alone = folder / "alone"
alone.mkdir()
(alone / f"events.out.tfevents.1.{job}").write_bytes(ask(f"/v1/jobs/{job}/metrics?format=tensorboard"))
series = json.loads(ask(f"/v1/jobs/{job}/metrics"))["series"]
single = lambda value: struct.unpack("f", struct.pack("f", value))[0]
for place in (written.parent, alone):
    found = EventAccumulator(str(place), size_guidance={"scalars": 0})
    found.Reload()
    assert set(found.Tags()["scalars"]) == {one["name"] for one in series}, {one["name"] for one in series} ^ set(found.Tags()["scalars"])
    for one in series:
        scalars = found.Scalars(one["name"])
        assert [scalar.step for scalar in scalars] == one["steps"], one["name"]
        assert [scalar.value for scalar in scalars] == [single(value) for value in one["values"]], one["name"]
        assert scalars[0].wall_time == json.loads(ask(f"/v1/jobs/{job}"))["started_at"]
# Whoever calls it again gets the same file, and once is enough for a job that is over.
before = written.read_bytes()
subprocess.run([PROGRAM, "jobs", "tensorboard", "--server", BASE, "--dir", folder, "--once", job], check=True, timeout=60)
assert written.read_bytes() == before
print(f"ok: {len(series)} series")
