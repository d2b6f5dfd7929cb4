"""The course of gpu_check.sh: tests, jobs, a killed worker, figures. Only Python's own library is needed."""

import argparse
import hashlib
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

HERE = Path(__file__).resolve().parent
# Seconds for everything, and what the last part must leave for the table.
BUDGET = 8 * 60
# The device of a build with the emulated GPU, for CI.
EMULATED = "simulated:2"
OBJECTIVES = {
    "sft": {"type": "sft", "source": "successes"},
    "bolt": {"type": "bolt", "beta": 0.25},
    "p3o": {"type": "p3o", "advantage": "group_std"},
    "vopd": {"type": "vopd", "teacher": "builtin:arith-tiny", "group_size": 4},
    "fade": {"type": "fade"},
    "grpo": {"type": "grpo"},
    "policy_gradient": {"type": "policy_gradient"},
}


def find(variable, name, folders):
    """What the environment names, or the first of several places that has the program."""
    if os.environ.get(variable):
        return Path(os.environ[variable]).resolve()
    for folder in folders:
        if os.access(folder / name, os.X_OK):
            return folder / name
    return None


class Check:
    """What was run, and how it went."""

    def __init__(self, device):
        self.device, self.began = device, time.monotonic()
        self.lines, self.failures, self.figures = [], [], {}

    def left(self):
        """Seconds of the budget."""
        return BUDGET - (time.monotonic() - self.began)

    def note(self, what, result, good=True):
        """Adds a line to the table."""
        self.lines.append((what, result))
        if not good:
            self.failures.append(what)
        print(f"[{time.monotonic() - self.began:5.0f}s] {what}: {result}", file=sys.stderr, flush=True)

    def run(self, what, command, seconds, **options):
        """Runs a program within the time that is left; returns what it printed, or None."""
        seconds = max(5, min(seconds, self.left()))
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, **options)
        except subprocess.TimeoutExpired:
            self.note(what, f"not done after {seconds:.0f} s", good=False)
            return None
        if done.returncode != 0:
            tail = (done.stdout + done.stderr).strip().splitlines()[-12:]
            self.note(what, f"exit {done.returncode}: " + " | ".join(tail), good=False)
            return None
        return done.stdout


class Server:
    """`anneal serve` on a port of its own and an empty data directory."""

    def __init__(self, anneal, device, folder):
        # Standard output must not be a pipe that nobody reads.
        self.log = open(folder / "serve.log", "w+", encoding="utf-8")
        command = [str(anneal), "serve", "--data-dir", str(folder / "data"), "--listen", "127.0.0.1:0",
                   "--devices", device, "--lease-seconds", "5"]
        self.process = subprocess.Popen(command, stdout=self.log, stderr=subprocess.STDOUT, cwd=folder)
        deadline, self.base = time.monotonic() + 60, None
        while self.base is None:
            found = re.search(r"http://[\d.:]+", Path(self.log.name).read_text(encoding="utf-8"))
            self.base = found.group(0) if found and "serves" in Path(self.log.name).read_text(encoding="utf-8") else None
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.process.kill()
                raise RuntimeError("the server did not start: " + Path(self.log.name).read_text(encoding="utf-8")[-500:])
            time.sleep(0.05)

    def ask(self, path, body=None):
        """One request; JSON both ways."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data, {"content-type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def wait(self, job, seconds, until=lambda job: job["status"] in ("succeeded", "failed", "cancelled")):
        """The job once `until` holds of it."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            found = self.ask(f"/v1/jobs/{job}")
            if until(found):
                return found
            time.sleep(0.1)
        raise TimeoutError(f"the job is {found['status']} after {seconds:.0f} s")

    def weights(self, checkpoint):
        """The digest of the downloaded weights."""
        with urllib.request.urlopen(f"{self.base}/v1/checkpoints/{checkpoint}/files/model.safetensors") as answer:
            return hashlib.sha256(answer.read()).hexdigest()

    def stop(self):
        """Ends the server as an operator does."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=30)


def spec(objective, steps):
    """A small job on the built-in model; some objectives in bf16, so that both forms of the operations are run."""
    precision = "bf16" if objective["type"] in ("p3o", "vopd", "grpo") else "f32"
    return {
        "model": "builtin:arith-tiny",
        "dataset": {"train": "builtin:arithmetic", "eval": "builtin:arithmetic"},
        "verifier": {"type": "numeric"},
        "objective": objective,
        "sampling": {"temperature": 1.0, "max_new_tokens": 6, "batch_size": 64},
        "train": {"steps": steps, "prompts_per_step": 8, "precision": precision},
        "eval": {"every_steps": 0, "samples": 2, "pass_at": [1], "prompts": 16},
        "checkpoints": {"every_steps": 2},
        "seed": 3,
    }


def finished(check, server, what, job, seconds):
    """Waits for a job and compares its weights with what its result says; returns job and digest."""
    job = server.wait(job["id"], min(seconds, max(5, check.left())))
    if job["status"] != "succeeded":
        check.note(what, f"{job['status']}: {json.dumps(job.get('failure'))}", good=False)
        return None
    digest = server.weights(job["result"]["checkpoint"])
    same = digest == job["result"]["weights_sha256"]
    if not same:
        check.note(what, "the downloaded weights are not those of the result", good=False)
    return (job, digest) if same else None


def jobs(check, server, steps):
    """A job of every objective."""
    for name, objective in OBJECTIVES.items():
        began = time.monotonic()
        done = finished(check, server, f"job, {name}", server.ask("/v1/jobs", spec(objective, steps)), 120)
        if done is None:
            continue
        metrics = server.ask(f"/v1/jobs/{done[0]['id']}/metrics?keys=logprob/max_abs_diff")
        points = [value for series in metrics["series"] for value in series["values"]]
        result = f"succeeded in {time.monotonic() - began:.1f} s, {steps} steps"
        if points:
            check.figures[f"logprob_max_abs_diff/{name}"] = max(points)
            result += f", sampler and trainer differ by {max(points):.2g} at most"
        check.note(f"job, {name}", result)


def kill_and_resume(check, server, steps):
    """Kills the worker in the middle of a job; the job must end with the bits of an undisturbed one."""
    what = "a killed worker"
    calm = finished(check, server, what, server.ask("/v1/jobs", spec(OBJECTIVES["grpo"], steps)), 120)
    job = server.ask("/v1/jobs", spec(OBJECTIVES["grpo"], steps))
    server.wait(job["id"], 60, lambda job: job["step"] >= 3 or job["status"] in ("succeeded", "failed"))
    holds = [device for device in server.ask("/v1/devices")["data"] if device["job"] == job["id"]]
    os.kill(holds[0]["pid"], signal.SIGKILL)
    killed = finished(check, server, what, job, 120)
    if calm and killed:
        attempts, same = killed[0]["attempt"], killed[1] == calm[1]
        told = "the same weights" if same else "OTHER WEIGHTS than the undisturbed job"
        check.note(what, f"attempt {attempts}, {told}", good=same and attempts == 2)


def wide(check, server, steps):
    """Two jobs one after the other on two devices each, where there are two."""
    devices = [device for device in server.ask("/v1/devices")["data"] if device["status"] == "idle"]
    if len(devices) < 2:
        return check.note("two devices", "there is only one here")
    for number in (1, 2):
        body = spec(OBJECTIVES["grpo"], steps) | {"resources": {"devices": 2}}
        done = finished(check, server, "two devices", server.ask("/v1/jobs", body), 120)
        if done:
            check.note("two devices", f"job {number} succeeded on {', '.join(done[0]['devices'])}")
    return None


def tests(check, program):
    """The tests of the operations on the device."""
    what = "operations on the device"
    if check.device == EMULATED:
        return None
    if program is None:
        return check.note(what, "anneal-tests is not there", good=False)
    chosen = "engine::ops" if check.device == "cpu" else "engine::cuda"
    printed = check.run(what, [str(program), chosen, "--test-threads", "1"], 150)
    if printed is not None:
        found = re.search(r"test result: ok. ([1-9]\d*) passed", printed)
        check.note(what, f"{found.group(1)} tests passed" if found else printed.strip()[-200:], good=bool(found))


def figures(check, anneal):
    """`anneal bench` and, beside it, PyTorch."""
    small = not check.device.startswith("cuda")
    models = ["tiny"] if small else ["qwen3-0.6b", "qwen3-1.7b"]
    batches = "1,4" if small else "1,32,256"
    for model in models:
        if check.left() < 40:
            check.note(f"figures, {model}", "no time left")
            continue
        command = [str(anneal), "bench", "--json", "--model", "builtin:arith-tiny" if check.device == EMULATED else model, "--compute", "bf16", "--batch", batches,
                   "--device", "emulated" if check.device == EMULATED else check.device,
                   "--seconds", "0.2" if small else "2", "--only", "matmul,sample,train"]
        printed = check.run(f"figures, {model}", command, 150)
        if printed is None:
            continue
        report = json.loads(printed)
        check.figures[model] = report
        peak = report["matmul_peak_gflops"] / 1000
        memory = report.get("memory_bytes_per_second")
        check.note(f"{model}, peaks", f"{peak:.1f} TFLOP/s" + (f", {memory / 1e12:.2f} TB/s" if memory else ""))
        for result in report["results"]:
            if result["name"] in ("prefill", "decode"):
                share = result.get("share_of_bandwidth")
                told = f"{result['tokens_per_second']:,.0f} tokens/s" + (f", {share:.0%} of the memory bound" if share else "")
                check.note(f"{model}, {result['name']}, batch {result['batch']}", told)
            if result["name"] == "train":
                how = ", recompute" if result["recompute"] else ""
                told = f"{result['tokens_per_second']:,.0f} tokens/s, {result['share_of_peak']:.1%} of the matrix peak"
                check.note(f"{model}, training{how}", told)
        peer(check, model, batches)


def peer(check, model, batches):
    """The same shape in PyTorch with transformers, if they are installed."""
    script = HERE / "torch_peer.py"
    command = [sys.executable, str(script), "--model", model, "--batch", batches, "--device", check.device]
    if check.device == EMULATED:
        return None
    if subprocess.run([sys.executable, "-c", "import torch, transformers"], capture_output=True).returncode != 0:
        return check.note(f"{model}, PyTorch", "not installed here")
    printed = check.run(f"{model}, PyTorch", command, 120)
    for line in (printed or "").splitlines():
        result = json.loads(line)
        check.figures.setdefault(f"{model}/torch", []).append(result)
        check.note(f"{model}, PyTorch {result['version']}, {result['what']}", f"{result['tokens_per_second']:,.0f} tokens/s")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda:0", help="or `cpu`; jobs may use all GPUs")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--steps", type=int, default=3, help="of each job")
    args = parser.parse_args()
    root = HERE.parent.parent
    anneal = find("ANNEAL", "anneal", [HERE, root / "target/release", root / "target/debug"])
    if anneal is None:
        sys.exit("gpu_check: there is no anneal beside this script; see gpu_check.sh --pack")
    check = Check(args.device)
    check.note("program", subprocess.run([anneal, "--version"], capture_output=True, text=True).stdout.strip())
    tests(check, find("ANNEAL_TESTS", "anneal-tests", [HERE, root / "target/release"]))
    with tempfile.TemporaryDirectory() as folder:
        # Jobs on several GPUs need all of them.
        server = Server(anneal, "all" if args.device.startswith("cuda") else args.device, Path(folder))
        try:
            long = 40 if args.device != EMULATED else 6
            for part, steps in ((jobs, args.steps), (wide, args.steps), (kill_and_resume, long)):
                try:
                    part(check, server, steps)
                except (OSError, TimeoutError, KeyError, RuntimeError) as error:
                    check.note(part.__name__, f"{type(error).__name__}: {error}", good=False)
        finally:
            server.stop()
    figures(check, anneal)
    width = max(len(what) for what, _ in check.lines)
    print("\n" + "\n".join(f"{what:<{width}}  {result}" for what, result in check.lines))
    print(f"\n{time.strftime('%Y-%m-%d')}, {time.monotonic() - check.began:.0f} s: "
          + (f"FAILED: {', '.join(check.failures)}" if check.failures else "passed"))
    if args.out:
        lines = [{"what": what, "result": result} for what, result in check.lines]
        args.out.write_text(json.dumps({"lines": lines, "failures": check.failures, "figures": check.figures}, indent=1))
    sys.exit(1 if check.failures else 0)


if __name__ == "__main__":
    main()
