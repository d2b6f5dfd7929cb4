#!/usr/bin/env python3
"""The measured study: trains the built-in model with every objective and compares them over several seeds.

    python3 examples/study/run.py --smoke          # every job and every figure once, tiny: does it all work?
    python3 examples/study/run.py --docs docs      # the study; writes docs/RESULTS.md and docs/study/

It starts a server of its own, submits one job after another and keeps what each job left behind below --out, so that
an interrupted study goes on where it stopped. `--report` draws and writes again without running anything. Only the
standard library is needed, and `cargo build --release` before.
"""

import argparse
import fcntl
import fnmatch
import hashlib
import json
import os
import platform
import shutil
import signal
import sys
import time
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE))

import figures  # noqa: E402
import report  # noqa: E402
from data import Results  # noqa: E402
from service import Client, JobFailed, Refused, Server, ServiceError  # noqa: E402

# ---------------------------------------------------------------------------------------------------------------------
# Parameters. All methods sample steps * prompts * GROUP completions and take the same number of optimizer steps; where
# completions are used REUSE times, a step holds REUSE times as many.

MODEL = "builtin:arith-tiny"
DATASET = "builtin:arithmetic"
GROUP = 8
REUSE = 4
ROUNDS = 4
BETAS = (0.1, 0.25, 1.0)
HOT = 1.3
# 0.0001, as in the quickstart, reached pass@1 0.73 in 40 steps of BOLT, 0.0003 reached 0.85, and 0.001 was less steady.
LEARNING_RATE = 0.0003
# The vocabulary has 32 tokens, so that a baseline over 100 would be the full one.
VOPD_TOP_K = 4
VOPD_GROUP = 4
SAMPLING = {"temperature": 1.0, "max_new_tokens": 6, "batch_size": 256}
MICRO_BATCH_TOKENS = 4096
TEACHER_LEARNING_RATE = 0.001
FRONTIER_BETAS = (0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.25, 0.35, 0.5, 0.7, 1.0, 1.5, 2.5, 5.0)


@dataclass(frozen=True)
class Scale:
    """How large the study is."""

    steps: int
    prompts: int
    eval_every: int
    eval_prompts: int
    teacher_steps: int
    teacher_prompts: int
    # Prompts from which the finished model's entropy is measured, and from which the frontier is.
    probe_prompts: int
    frontier_prompts: int
    variance_repeats: int
    # The longest that one job may take.
    job_seconds: int


FULL = Scale(
    steps=48,
    prompts=32,
    eval_every=12,
    eval_prompts=400,
    teacher_steps=300,
    teacher_prompts=128,
    probe_prompts=128,
    frontier_prompts=512,
    variance_repeats=16,
    job_seconds=900,
)
SMOKE = Scale(
    steps=4,
    prompts=4,
    eval_every=1,
    eval_prompts=16,
    teacher_steps=8,
    teacher_prompts=16,
    probe_prompts=8,
    frontier_prompts=16,
    variance_repeats=2,
    job_seconds=120,
)

# Metrics that are kept of every step; a method that lacks one reports nothing for it.
METRICS = (
    "reward/mean",
    "entropy/mean",
    "ess/ratio",
    "clip/fraction",
    "kl/behavior",
    "grad/norm",
    "p3o/ess",
    "fade/alpha",
    "fade/delta",
    "logprob/mean_abs_diff",
    "target/ess_share",
    "kl/teacher",
)
PROBE_METRICS = ("entropy/mean", "reward/mean", "coverage/distinct_answers", "coverage/unseen_answers")
TEACHER = "@teacher"

# ---------------------------------------------------------------------------------------------------------------------
# The grid.


@dataclass(frozen=True)
class Condition:
    """One method with its settings: an objective and what its spec changes of the common one."""

    name: str
    label: str
    objective: dict
    # Whether every completion is used REUSE times.
    reused: bool = False
    changes: dict = field(default_factory=dict)

    def spec(self, scale, seed):
        """The job. A teacher stands in it as TEACHER until it is submitted."""
        reuse = REUSE if self.reused else 1
        prompts = scale.prompts * reuse * GROUP // self.objective["group_size"]
        train = {"steps": scale.steps, "prompts_per_step": prompts, "updates_per_rollout": reuse}
        return merge(common(self.name, self.objective, train, scale, seed), self.changes)


def common(name, objective, train, scale, seed):
    """The spec that all jobs of the study share."""
    return {
        "name": name,
        "model": MODEL,
        "dataset": {"train": DATASET, "eval": DATASET},
        "verifier": {"type": "numeric"},
        "objective": objective,
        "sampling": SAMPLING,
        "optimizer": {"learning_rate": LEARNING_RATE, "schedule": "cosine", "warmup": 0.05},
        "train": {**train, "track_reference": False, "micro_batch_tokens": MICRO_BATCH_TOKENS},
        "eval": {"every_steps": scale.eval_every, "samples": 8, "pass_at": [1, 8], "prompts": scale.eval_prompts},
        "checkpoints": {"every_steps": train["steps"], "keep_last": 1},
        "seed": seed,
    }


def merge(base, changes):
    """`base` with `changes` put into it, object by object."""
    merged = dict(base)
    for key, value in changes.items():
        merged[key] = (
            merge(merged[key], value) if isinstance(value, dict) and isinstance(merged.get(key), dict) else value
        )
    return merged


def teacher_spec(scale, seed=1):
    """The teacher of vOPD: the same model after it was shown right answers."""
    train = {"steps": scale.teacher_steps, "prompts_per_step": scale.teacher_prompts}
    spec = common("sft", {"type": "sft"}, train, scale, seed)
    every = max(1, scale.teacher_steps // 3)
    return merge(spec, {"optimizer": {"learning_rate": TEACHER_LEARNING_RATE}, "eval": {"every_steps": every}})


def probe_spec(checkpoint, scale, seed):
    """Samples from a finished model at temperature 1, to measure its entropy: a job of one step whose own result is
    thrown away. Entropies of training are those of the model that sampled, which for one-shot methods is the start."""
    train = {"steps": 1, "prompts_per_step": scale.probe_prompts}
    spec = common("probe", {"type": "bolt", "group_size": GROUP}, train, scale, seed)
    return {**spec, "model": checkpoint, "dataset": {"train": DATASET}, "eval": {"before": False}}


def rollout_set_spec(scale, seed):
    """Completions of the start model, for its frontier."""
    return {
        "name": "frontier",
        "model": MODEL,
        "dataset": {"train": DATASET},
        "verifier": {"type": "numeric"},
        "sampling": SAMPLING,
        "group_size": GROUP,
        "prompts": scale.frontier_prompts,
        "seed": seed,
    }


def grpo(clip_high=0.2):
    return {
        "type": "grpo",
        "group_size": GROUP,
        "clip_low": 0.2,
        "clip_high": clip_high,
        "scale": "std",
        "kl_coef": 0.0,
    }


def p3o():
    return {"type": "p3o", "group_size": GROUP, "advantage": "group_std"}


def bolt(beta, rounds):
    return {"type": "bolt", "beta": beta, "group_size": GROUP, "rounds": rounds}


def vopd(baseline, variance_repeats=0):
    return {
        "type": "vopd",
        "group_size": VOPD_GROUP,
        "teacher": TEACHER,
        "baseline": baseline,
        "gradient_variance_repeats": variance_repeats,
    }


def fade(alpha_max=3.0, delta_min=0.3):
    return {
        "type": "fade",
        "group_size": GROUP,
        "alpha_max": alpha_max,
        "entropy_target": "auto",
        "delta_min": delta_min,
    }


def conditions(scale):
    """Every method of the study."""
    # Held-out accuracy is that of the model at temperature 1, also where training samples hotter.
    hot = {"sampling": {"temperature": HOT}, "eval": {"temperature": 1.0}}
    # Evaluations take the weights that are trained, whatever samples.
    narrow = {"sampling": {"weights": "int8", "cache": "bf16"}}
    grid = [
        Condition(
            "sft-successes",
            "SFT on successes",
            {"type": "sft", "source": "successes", "group_size": GROUP, "rounds": 1},
            reused=True,
        ),
        Condition("grpo", "GRPO", grpo()),
        Condition("grpo-clip-higher", "GRPO, clip 0.2/0.4", grpo(clip_high=0.4)),
    ]
    for beta in BETAS:
        grid.append(Condition(f"bolt-b{beta}-oneshot", f"BOLT {beta}, one-shot", bolt(beta, 1), reused=True))
        grid.append(Condition(f"bolt-b{beta}-refreshed", f"BOLT {beta}, refreshed", bolt(beta, ROUNDS), reused=True))
    return grid + [
        Condition("p3o", "P3O", p3o()),
        Condition("grpo-stale", "GRPO, stale", grpo(), reused=True),
        Condition("p3o-stale", "P3O, stale", p3o(), reused=True),
        Condition("grpo-hot", "GRPO, temperature 1.3", grpo(), changes=hot),
        Condition("p3o-hot", "P3O, temperature 1.3", p3o(), changes=hot),
        Condition("grpo-int8", "GRPO, sampled in int8", grpo(), changes=narrow),
        Condition("p3o-int8", "P3O, sampled in int8", p3o(), changes=narrow),
        Condition("grpo-stale-int8", "GRPO, stale, sampled in int8", grpo(), reused=True, changes=narrow),
        Condition("p3o-stale-int8", "P3O, stale, sampled in int8", p3o(), reused=True, changes=narrow),
        Condition("vopd-full", "vOPD, full baseline", vopd("full")),
        Condition("vopd-topk", f"vOPD, top {VOPD_TOP_K}", vopd({"top_k": VOPD_TOP_K}, scale.variance_repeats)),
        Condition("vopd-none", "OPD, no baseline", vopd("none")),
        Condition("fade", "FADE", fade()),
        Condition("fade-alpha", "FADE, alpha only", fade(delta_min=1.0)),
        Condition("fade-delta", "FADE, delta only", fade(alpha_max=1.0)),
        Condition("grpo-mean", "mean-only GRPO", fade(alpha_max=1.0, delta_min=1.0)),
    ]


def policy_gradient():
    """An objective that no claim is about; it is run in the smoke test and stands among the examples."""
    return Condition(
        "policy_gradient",
        "policy gradient, MaxRL",
        {"type": "policy_gradient", "group_size": GROUP, "advantage": "maxrl"},
    )


def example_specs():
    """The specs beside this file, by name: one for each objective, at the size of the study."""
    by_name = {condition.name: condition for condition in [*conditions(FULL), policy_gradient()]}
    chosen = {
        "sft-successes": "sft-successes",
        "grpo": "grpo",
        "bolt": "bolt-b0.25-refreshed",
        "p3o": "p3o",
        "vopd": "vopd-full",
        "fade": "fade",
        "policy_gradient": "policy_gradient",
    }
    specs = {"sft": teacher_spec(FULL)}
    for name, condition in chosen.items():
        spec = {**by_name[condition].spec(FULL, seed=1), "name": name}
        if "teacher" in spec["objective"]:
            # The model itself stands in for a better one, so that the example runs by itself.
            spec["objective"] = {**spec["objective"], "teacher": MODEL}
        specs[name] = spec
    return specs


def spec_text(spec):
    """A spec as JSON with one line for each of its parts."""
    parts = (f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in spec.items())
    return "{\n" + ",\n".join(parts) + "\n}\n"


def rollouts(spec):
    """Completions that a job samples for training; none with `sft` on a data set."""
    group = spec["objective"].get("group_size", 0)
    return (
        spec["train"]["steps"]
        * spec["train"]["prompts_per_step"]
        * group
        // spec["train"].get("updates_per_rollout", 1)
    )


def expected_seconds(spec):
    """About how long a job takes on 2 cores; only ratios matter, as the estimate learns from the jobs that are done."""
    train, evaluation = spec["train"], spec["eval"]
    sampled = rollouts(spec)
    trained = sampled * train.get("updates_per_rollout", 1) or train["steps"] * train["prompts_per_step"]
    evaluations = (
        2 + (train["steps"] - 1) // max(1, evaluation.get("every_steps", 0)) if spec["dataset"].get("eval") else 0
    )
    evaluated = evaluations * evaluation.get("prompts", 0) * evaluation.get("samples", 0)
    dearer = {"vopd": 1.4, "p3o": 1.3 if train.get("updates_per_rollout", 1) > 1 else 1.0}
    return 3 + 0.00045 * (sampled + evaluated) + 0.0007 * trained * dearer.get(spec["objective"]["type"], 1.0)


# ---------------------------------------------------------------------------------------------------------------------
# Running it.


@dataclass(frozen=True)
class Unit:
    """One piece of work with a result of its own: a condition, or the frontier, with one seed."""

    name: str
    seed: int
    condition: Condition = None

    @property
    def file(self):
        return f"{self.name}-s{self.seed}.json"


class Study:
    """The units, what is known of them, and how to get the rest. Results are files in `out/runs`."""

    def __init__(self, out, scale, seeds, patterns=(), with_policy_gradient=False):
        self.out, self.scale = Path(out), scale
        self.runs = self.out / "runs"
        self.runs.mkdir(parents=True, exist_ok=True)
        grid = conditions(scale) + ([policy_gradient()] if with_policy_gradient else [])
        self.grid = [c for c in grid if chosen(c.name, patterns)]
        self.units = []
        for seed in range(1, seeds + 1):
            if chosen("frontier", patterns):
                self.units.append(Unit("frontier", seed))
            self.units += [Unit(c.name, seed, c) for c in self.grid]
        self.failures = []
        self.build = None
        self._teacher = None

    # What identifies a unit's result: another spec is another result.
    def digest(self, unit):
        if unit.condition is None:
            parts = [rollout_set_spec(self.scale, unit.seed), list(FRONTIER_BETAS)]
        else:
            spec = unit.condition.spec(self.scale, unit.seed)
            parts = [spec, probe_spec("", self.scale, unit.seed)]
            if spec["objective"].get("teacher") == TEACHER:
                parts.append(teacher_spec(self.scale))
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]

    def cached(self, unit):
        """The stored result of a unit, if there is one and it is of the same spec."""
        try:
            record = json.loads((self.runs / unit.file).read_text())
        except (OSError, ValueError):
            return None
        return record if record.get("digest") == self.digest(unit) else None

    def pending(self):
        return [unit for unit in self.units if self.cached(unit) is None]

    def run(self, client):
        """Runs what is not known yet, with a line for each unit. A failed job does not stop the others."""
        clock = Clock(sum(self.expected(unit) for unit in self.pending()))
        for number, unit in enumerate(self.units, 1):
            head = f"[{number:{len(str(len(self.units)))}}/{len(self.units)}] {unit.name} seed {unit.seed}"
            if self.cached(unit) is not None:
                print(f"{head}: known already", flush=True)
                continue
            started = time.monotonic()
            try:
                told = self.perform(client, unit)
            except (JobFailed, Refused) as error:
                self.failures.append(f"{unit.name} seed {unit.seed}: {error}")
                told = f"FAILED: {error}"
            clock.done(self.expected(unit), time.monotonic() - started)
            print(f"{head}: {told}, {time.monotonic() - started:.0f} s; {clock.left()}", flush=True)

    def expected(self, unit):
        if unit.condition is None:
            return 3 + 0.00045 * self.scale.frontier_prompts * GROUP
        spec = unit.condition.spec(self.scale, unit.seed)
        return expected_seconds(spec) + expected_seconds(probe_spec("", self.scale, unit.seed))

    def perform(self, client, unit):
        """Runs one unit and stores its result; one phrase about it."""
        record = self.frontier(client, unit) if unit.condition is None else self.train(client, unit)
        record = {
            "name": unit.name,
            "seed": unit.seed,
            "digest": self.digest(unit),
            "build": self.build,
            "machine": machine(),
            "date": date.today().isoformat(),
            **record,
        }
        store(self.runs / unit.file, rounded(record))
        if unit.condition is None:
            return f"recommended beta {record['recommended_beta']}"
        first, last = record["evaluations"][0]["pass_at"], record["evaluations"][-1]["pass_at"]
        return ", ".join(f"pass@{k} {first[k]:.3f} -> {last[k]:.3f}" for k in last)

    def train(self, client, unit):
        """A training job and the probe of its result."""
        spec = unit.condition.spec(self.scale, unit.seed)
        submitted = spec
        if spec["objective"].get("teacher") == TEACHER:
            submitted = merge(spec, {"objective": {"teacher": self.teacher(client)}})
        job = client.run(submitted, self.scale.job_seconds)
        record = harvest(client, job)
        if not record["evaluations"]:
            raise JobFailed(f"{job['id']} left no evaluation behind")
        probe = client.run(probe_spec(job["result"]["checkpoint"], self.scale, unit.seed), self.scale.job_seconds)
        series = client.metrics(probe["id"], PROBE_METRICS)
        record["probe"] = {name: s["values"][0] for name, s in series.items()}
        return {"label": unit.condition.label, "spec": spec, "rollouts": rollouts(spec), **record}

    def frontier(self, client, unit):
        """The temperature-coverage-variance frontier of the start model."""
        answer = client.call("/v1/rollout-sets", rollout_set_spec(self.scale, unit.seed))
        client.finish(answer["job"], self.scale.job_seconds)
        table = client.call(f"/v1/rollout-sets/{answer['id']}/frontier", {"betas": list(FRONTIER_BETAS)})
        return {key: table.get(key) for key in ("rows", "coverage", "recommended_beta")}

    def teacher(self, client):
        """The teacher's checkpoint on this server; it is trained when it is first asked for."""
        if self._teacher is None:
            started = time.monotonic()
            try:
                job = client.run(teacher_spec(self.scale), self.scale.job_seconds)
                record = {"spec": teacher_spec(self.scale), **harvest(client, job)}
                store(self.runs / "teacher.json", rounded(record))
                self._teacher = job["result"]["checkpoint"]
                print(f"      teacher trained, {time.monotonic() - started:.0f} s", flush=True)
            except (JobFailed, Refused) as error:
                self._teacher = error
        if isinstance(self._teacher, Exception):
            raise JobFailed(f"there is no teacher: {self._teacher}")
        return self._teacher

    def results(self):
        """All that is known, as the text and the figures need it."""
        records = [self.cached(unit) for unit in self.units]
        teacher = self.runs / "teacher.json"
        return {
            "parameters": {
                "steps": self.scale.steps,
                "prompts_per_step": self.scale.prompts,
                "group_size": GROUP,
                "reuse": REUSE,
                "rounds": ROUNDS,
                "learning_rate": LEARNING_RATE,
                "betas": list(BETAS),
                "hot_temperature": HOT,
                "vopd_top_k": VOPD_TOP_K,
                "model": MODEL,
                "dataset": DATASET,
                "eval_every": self.scale.eval_every,
                "eval_prompts": self.scale.eval_prompts,
                "eval_samples": 8,
                "teacher_steps": self.scale.teacher_steps,
                "teacher_prompts": self.scale.teacher_prompts,
                "probe_prompts": self.scale.probe_prompts,
                "frontier_prompts": self.scale.frontier_prompts,
                "variance_repeats": self.scale.variance_repeats,
                "smoke": self.scale is SMOKE,
            },
            "methods": [{"name": c.name, "label": c.label} for c in self.grid],
            "runs": [r for u, r in zip(self.units, records) if r is not None and u.condition is not None],
            "frontiers": [r for u, r in zip(self.units, records) if r is not None and u.condition is None],
            "teacher": json.loads(teacher.read_text()) if teacher.exists() else None,
        }


class Clock:
    """Tells how much time is left, from what was expected and what it took so far."""

    # The expectation counts as much as so many seconds of experience.
    PRIOR = 30.0

    def __init__(self, expected):
        self.expected_left, self.expected_done, self.took = expected, self.PRIOR, self.PRIOR

    def done(self, expected, took):
        self.expected_left -= expected
        # What ended at once was refused and says nothing about the others.
        if took > 1:
            self.expected_done += expected
            self.took += took

    def left(self):
        seconds = max(0.0, self.expected_left) * self.took / self.expected_done
        return f"about {seconds / 60:.0f} min left" if seconds >= 90 else f"about {seconds:.0f} s left"


def harvest(client, job):
    """What a finished job left behind, as far as the study uses it."""
    events = client.events(job["id"])
    evaluations = [
        {"step": e["data"]["step"], "pass_at": {str(p["k"]): p["mean"] for p in e["data"]["pass_at"]}}
        for e in events
        if e["type"] == "evaluation"
    ]
    logs = [e["data"] for e in events if e["type"] == "log" and isinstance(e.get("data"), dict)]
    variances = [data["gradient_variance"] for data in logs if "gradient_variance" in data]
    return {
        "job": job["id"],
        "wall_seconds": wall_seconds(job, events),
        "evaluations": evaluations,
        "series": client.metrics(job["id"], METRICS),
        "round_gaps": [data["gaps"] for data in logs if data.get("gaps")],
        "final_gaps": ((job["result"] or {}).get("report") or {}).get("gaps"),
        "gradient_variance": variances[0] if variances else None,
    }


def wall_seconds(job, events):
    """From the moment the job ran to its end, to the millisecond where the events tell."""
    at = {e["data"].get("status"): e["created_at"] for e in events if e["type"] == "status"}
    try:
        begin, end = (datetime.fromisoformat(at[s].replace("Z", "+00:00")) for s in ("running", "succeeded"))
        return (end - begin).total_seconds()
    except (KeyError, AttributeError, ValueError):
        return float(job["finished_at"] - job["started_at"])


def chosen(name, patterns):
    return not patterns or any(fnmatch.fnmatch(name, pattern) for pattern in patterns)


def rounded(value):
    """The same with numbers of 6 significant digits, which is all that is shown and keeps the files small."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {key: rounded(v) for key, v in value.items()}
    return [rounded(v) for v in value] if isinstance(value, (list, tuple)) else value


def store(path, value):
    """Writes JSON so that a file is either whole or absent."""
    partial = path.with_suffix(".part")
    partial.write_text(json.dumps(value))
    partial.replace(path)


def machine():
    """The processor and its cores, as the results name them."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        model = platform.machine()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{cores} {'core' if cores == 1 else 'cores'} of {model}"


def write_results(study, docs):
    """results.json, the figures and RESULTS.md; what is wrong with them, as sentences."""
    results = study.results()
    if not results["runs"] and not results["frontiers"]:
        raise ServiceError(f"there are no results in {study.runs}")
    folder = study.out / "study"
    folder.mkdir(exist_ok=True)
    store(folder / "results.json", results)
    drawn, notes = figures.draw(Results(results), folder)
    (study.out / "RESULTS.md").write_text(report.text(Results(results), drawn))
    print(f"written: {study.out / 'RESULTS.md'}, {folder / 'results.json'} and {len(drawn)} figures", flush=True)
    if docs:
        docs = Path(docs)
        (docs / "study").mkdir(parents=True, exist_ok=True)
        shutil.copy(study.out / "RESULTS.md", docs / "RESULTS.md")
        for name in ["results.json", *drawn]:
            shutil.copy(folder / name, docs / "study" / name)
        print(f"copied to {docs / 'RESULTS.md'} and {docs / 'study'}")
    return notes


def run_jobs(study, program):
    """Runs the pending units on a server of its own."""
    pending = len(study.pending())
    if pending == 0:
        print("everything is known already")
        return
    minutes = sum(study.expected(unit) for unit in study.pending()) / 60
    print(f"{len(study.units)} results, {pending} of them to make; about {minutes:.0f} min on 2 idle cores", flush=True)
    with Server(program, study.out) as server:
        client = Client(server.url)
        version = client.call("/healthz").get("version", "?")
        program_digest = hashlib.sha256(Path(program).read_bytes()).hexdigest()[:12]
        study.build = f"anneal {version} ({program_digest})"
        try:
            study.run(client)
        except ServiceError as error:
            raise ServiceError(f"{error}. The server: {server.trouble()}") from None


def prepare(out, fresh):
    """Makes the folder, and clears away what a killed study left; the lock says that it is dead."""
    out.mkdir(parents=True, exist_ok=True)
    lock = open(out / "lock", "w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise ServiceError(f"another study uses {out}; name another folder with --out") from None
    for folder in [*out.glob("server-*"), *([out / "runs", out / "study"] if fresh else [])]:
        shutil.rmtree(folder, ignore_errors=True)
    return lock


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--anneal",
        type=Path,
        default=ROOT / "target/release/anneal",
        metavar="FILE",
        help="the program [default: target/release/anneal]",
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=ROOT / "target/study",
        metavar="DIR",
        help="where results are kept [default: target/study]",
    )
    parser.add_argument(
        "--docs", type=Path, metavar="DIR", help="also copy RESULTS.md and its figures into this folder"
    )
    parser.add_argument("--seeds", type=int, default=3, metavar="N", help="seeds 1 to N [default: 3]")
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="GLOB",
        help="only the conditions whose name matches (frontier is one); may be repeated",
    )
    parser.add_argument(
        "--smoke",
        action="store_true",
        help="everything once and tiny; fails unless every job succeeds and every figure is complete",
    )
    parser.add_argument("--report", action="store_true", help="run nothing; draw and write from the stored results")
    parser.add_argument("--fresh", action="store_true", help="forget stored results first")
    parser.add_argument("--write-specs", action="store_true", help="write the example specs beside this file and end")
    return parser.parse_args()


def main():
    args = arguments()
    if args.write_specs:
        for name, spec in example_specs().items():
            (HERE / f"{name}.json").write_text(spec_text(spec))
        return 0
    if args.seeds < 1:
        raise ServiceError("--seeds must be at least 1")
    out = args.out.resolve() / ("smoke" if args.smoke else "")
    _lock = prepare(out, args.fresh or (args.smoke and not args.report))
    scale, seeds = (SMOKE, 1) if args.smoke else (FULL, args.seeds)
    study = Study(out, scale, seeds, args.only, with_policy_gradient=args.smoke)
    if not args.report:
        run_jobs(study, args.anneal)
    if study.failures:
        print(f"\n{len(study.failures)} failed:", *study.failures, sep="\n  ", file=sys.stderr)
    notes = write_results(study, args.docs)
    for note in notes:
        print(f"note: {note}", file=sys.stderr)
    return 1 if study.failures or (args.smoke and notes) else 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        sys.exit(main())
    except ServiceError as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        print("\ninterrupted; the same command goes on from here", file=sys.stderr)
        sys.exit(130)
