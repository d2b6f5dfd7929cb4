#!/usr/bin/env python3
"""The measured study: puts what the papers claim to the test, regime by regime, over several seeds.

    python3 examples/study/run.py --smoke                    # every job and every figure once, tiny: does it all work?
    python3 examples/study/run.py --regime reuse --docs docs # one regime; without --regime all of them
    python3 examples/study/run.py --server http://host:8000  # on a server that runs

It starts a server of its own unless one is named, gives it a sweep for each regime and keeps what each job left behind below
--out. A study that was killed, or whose server was, goes on with the same command: what is known is not run again, and
sweeps that a named server has are waited for. `--report` draws and writes again without running anything. Only the
standard library is needed, and `cargo build --release` before.
"""

import argparse
import fcntl
import hashlib
import json
import os
import platform
import shutil
import signal
import sys
import time
from dataclasses import asdict, dataclass
from datetime import date, datetime
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE))

import figures  # noqa: E402
import regimes  # noqa: E402
import report  # noqa: E402
from data import Results  # noqa: E402
from regimes import FULL, GROUP, REGIMES, SMOKE, STARTS, spec_of  # noqa: E402
from tasks import ARITHMETIC, TASKS  # noqa: E402
from service import Client, JobFailed, Refused, Server, ServiceError  # noqa: E402

# Metrics that are kept of every step; a job that lacks one reports nothing for it.
METRICS = (
    "ess/ratio",
    "p3o/ess",
    "kl/reference",
    "entropy/mean",
    "reward/mean",
    "reward/zero_spread",
    "fade/alpha",
    "fade/delta",
    "logprob/mean_abs_diff",
    "target/ess_share",
    "kl/teacher",
    "completion/tokens_mean",
    "time/rollout_seconds",
    "time/step_seconds",
)
PROBE_METRICS = ("entropy/mean", "reward/mean")
# Jobs that wait for a device or have one: the next one is there when one ends.
AT_ONCE = 2


@dataclass(frozen=True)
class Unit:
    """One piece of work with a result of its own: a condition with one seed."""

    regime: regimes.Regime
    condition: regimes.Condition
    seed: int

    @property
    def name(self):
        return f"{self.regime.name}/{self.condition.name} seed {self.seed}"

    @property
    def file(self):
        return f"{self.regime.name}-{self.condition.name}-s{self.seed}.json"


class Things:
    """What specs name by `@`: data sets, start models and their rollout sets, on one server. They are made when they are
    first asked for; a server that knows them already answers with what it has."""

    def __init__(self, client, scale):
        self.client, self.scale, self.known = client, scale, {}

    def named(self, value, seed):
        """A spec with the things in the place of their names."""
        if isinstance(value, dict):
            return {key: self.named(part, seed) for key, part in value.items()}
        if isinstance(value, str) and value.startswith("@"):
            return self.thing(value[1:], seed)
        return value

    def thing(self, name, seed):
        if (name, seed) not in self.known:
            started = time.monotonic()
            self.known[name, seed] = self.make(name, seed)
            if time.monotonic() - started > 1:
                print(f"      {name} of seed {seed} made, {time.monotonic() - started:.0f} s", flush=True)
        return self.known[name, seed]

    def make(self, name, seed):
        for task in TASKS.values():
            if name in task.names:
                rows = task.train if name == task.names[0] else task.held_out
                return self.client.upload(f"study {name}", rows)
        if name.endswith("/set"):
            return self.rollout_set(name.removesuffix("/set"), seed)
        start = next(start for start in STARTS if start.name == name)
        rows = self.client.upload(f"study {name} {seed}", start.data(seed))
        spec = start.spec(self.scale, seed, rows)
        return self.client.run(spec, self.scale.job_seconds)["result"]["checkpoint"]

    def rollout_set(self, start, seed):
        task = TASKS[next(one.task for one in STARTS if one.name == start)]
        of_task = regimes.of_task(task)
        spec = {
            "name": f"study {start} {seed}",
            "model": self.thing(start, seed),
            "dataset": {"train": self.thing(task.names[0], seed)},
            "verifier": task.verifier,
            "sampling": of_task["sampling"],
            "group_size": GROUP,
            "prompts": max(8, self.scale.steps * self.scale.prompts // 2),
            "seed": seed,
        }
        answer = self.client.call("/v1/rollout-sets", spec, key=digest(spec))
        self.client.finish(answer["job"], self.scale.job_seconds)
        return answer["id"]


class Study:
    """The units, what is known of them, and how to get the rest. Results are files in `out/runs`."""

    def __init__(self, out, scale, seeds, names=()):
        self.out, self.scale = Path(out), scale
        self.runs = self.out / "runs"
        self.runs.mkdir(parents=True, exist_ok=True)
        self.regimes = [regime for regime in REGIMES if not names or regime.name in names]
        self.units = [
            Unit(regime, condition, seed)
            for regime in self.regimes
            for seed in range(1, seeds + 1)
            for condition in regime.conditions
        ]
        self.failures = []
        self.build, self.machine = None, machine()

    def digest(self, unit):
        """What identifies a unit's result: another spec, or another start, is another result."""
        starts = [asdict(start) for start in (unit.regime.start, *unit.regime.others)]
        # Starts had no task, model and precision before there were others.
        usual = {"task": ARITHMETIC.name, "model": regimes.MODEL, "precision": "f32"}
        starts = [{k: v for k, v in start.items() if usual.get(k) != v} for start in starts]
        return digest([spec_of(unit.regime, unit.condition, self.scale, unit.seed), starts, asdict(self.scale)])

    def cached(self, unit):
        """The stored result of a unit, if there is one and it is of the same spec."""
        try:
            record = json.loads((self.runs / unit.file).read_text())
        except (OSError, ValueError):
            return None
        return record if record.get("digest") == self.digest(unit) else None

    def pending(self):
        return [unit for unit in self.units if self.cached(unit) is None]

    def run(self, client, anew=False):
        """Runs what is not known yet, regime by regime, with a line for each unit. A failed job does not stop the others, and
        a refused regime not the other regimes. A server that is `anew` has nothing to go on with."""
        things, pace = Things(client, self.scale), Pace(len(self.units), len(self.pending()))
        for regime in self.regimes:
            pending = {(unit.condition.name, unit.seed): unit for unit in self.pending() if unit.regime is regime}
            known = sum(unit.regime is regime for unit in self.units) - len(pending)
            if known:
                pace.number += known
                print(f"[{pace.number}/{pace.units}] {regime.name}: {known} known already", flush=True)
            for body in self.sweeps(things, regime, pending if anew else None) if pending else ():
                try:
                    sweep = client.call("/v1/sweeps", body, key=f"study-{digest(body)}")
                except Refused as error:
                    self.failures.append(f"{regime.name}: {error}")
                    print(f"{regime.name}: FAILED: {error}", flush=True)
                    continue
                names = [variant["name"] for variant in body["variants"]]
                for trial in sweep["trials"]:
                    unit = pending.get((names[trial["configuration"]], trial["seed"]))
                    if unit:
                        self.take(client, things, unit, trial["job"], pace)

    def sweeps(self, things, regime, pending):
        """The sweeps that a regime comes to: one for all conditions with the same seeds whose specs name the same things at the
        same places, since a seed brings its own. Of what is `pending` alone, if it says so."""
        every = sorted({unit.seed for unit in self.units if unit.regime is regime})
        groups = {}
        for condition in regime.conditions:
            spec = spec_of(regime, condition, self.scale, 0)
            seeds = tuple(seed for seed in every if pending is None or (condition.name, seed) in pending)
            if seeds:
                groups.setdefault((seeds, *sorted(named(spec))), []).append((condition.name, spec))
        for (seeds, *things_named), conditions in groups.items():
            variants = [
                {"name": name, "patch": [{"op": "replace", "path": "", "value": spec}]} for name, spec in conditions
            ]
            yield {
                "name": f"study {regime.name}",
                "spec": {},
                "variants": variants,
                "seeds": list(seeds),
                "by_seed": {place: [things.thing(name, seed) for seed in seeds] for place, name in things_named},
                "at_once": AT_ONCE,
                "reuse": True,
            }

    def take(self, client, things, unit, job, pace):
        """Waits for the job of a unit and stores its result, and says so."""
        started = time.monotonic()
        try:
            told = self.perform(client, things, unit, job)
        except (JobFailed, Refused) as error:
            self.failures.append(f"{unit.name}: {error}")
            told = f"FAILED: {error}"
        print(pace.line(unit.name, told, time.monotonic() - started), flush=True)

    def perform(self, client, things, unit, job):
        """Stores the result of the job of a unit; one phrase about it."""
        job = client.finish(client.again(job), self.scale.job_seconds)
        record = harvest(client, job)
        if not record["evaluations"]:
            raise JobFailed(f"{job['id']} left no evaluation behind")
        if unit.regime.probe:
            probe = client.run(things.named(self.probe(job, unit), unit.seed), self.scale.job_seconds)
            series = client.metrics(probe["id"], PROBE_METRICS)
            record["probe"] = {name: s["values"][0] for name, s in series.items()}
        record = {
            "regime": unit.regime.name,
            "condition": unit.condition.name,
            "seed": unit.seed,
            "digest": self.digest(unit),
            "build": self.build,
            "machine": self.machine,
            "date": date.today().isoformat(),
            **record,
        }
        store(self.runs / unit.file, rounded(record))
        first, last = record["evaluations"][0]["pass_at"], record["evaluations"][-1]["pass_at"]
        return f"pass@1 {first['1']:.3f} -> {last['1']:.3f}"

    def probe(self, job, unit):
        """Samples from a finished model, to measure it: a job of one step whose own result is thrown away."""
        of_task = regimes.of_task(TASKS[unit.regime.start.task])
        return {
            **of_task,
            "name": "probe",
            "model": job["result"]["checkpoint"],
            "dataset": {"train": of_task["dataset"]["train"]},
            "objective": {"type": "bolt", "group_size": GROUP},
            "train": {"steps": 1, "prompts_per_step": self.scale.probe_prompts, "track_reference": False},
            "eval": {"before": False},
            "seed": unit.seed,
        }

    def results(self):
        """All that is known, as the text and the figures need it."""
        records = [self.cached(unit) for unit in self.units]
        return {
            "parameters": {**asdict(self.scale), "smoke": self.scale is SMOKE, "model": regimes.MODEL, "group": GROUP},
            "runs": [record for record in records if record is not None],
        }


class Pace:
    """How far a study is, and about how long it takes still."""

    def __init__(self, units, left):
        self.units, self.left, self.number, self.took, self.done = units, left, 0, 0.0, 0

    def line(self, name, told, seconds):
        self.number, self.took, self.done = self.number + 1, self.took + seconds, self.done + 1
        minutes = self.took / self.done * (self.left - self.done) / 60
        return f"[{self.number}/{self.units}] {name}: {told}, {seconds:.0f} s; about {minutes:.0f} min left"


def named(value, place=""):
    """Where in a spec things stand that are yet to be made, as JSON pointers, and their names."""
    if isinstance(value, dict):
        return [found for key, part in value.items() for found in named(part, f"{place}/{key}")]
    return [(place, value[1:])] if isinstance(value, str) and value.startswith("@") else []


def digest(value):
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def harvest(client, job):
    """What a finished job left behind, as far as the study uses it."""
    events = client.events(job["id"])
    evaluations = [
        {"step": e["data"]["step"], "pass_at": {str(p["k"]): p["mean"] for p in e["data"]["pass_at"]}}
        for e in events
        if e["type"] == "evaluation"
    ]
    logs = [e["data"] for e in events if e["type"] == "log" and isinstance(e.get("data"), dict)]
    return {
        "job": job["id"],
        "wall_seconds": wall_seconds(job, events),
        "evaluations": evaluations,
        "series": client.metrics(job["id"], METRICS),
        "gaps": ((job["result"] or {}).get("report") or {}).get("gaps"),
        # One for each step, though a job that was interrupted may have measured twice.
        "gradient_variances": [
            *{data.get("step"): data["gradient_variance"] for data in logs if "gradient_variance" in data}.values()
        ],
    }


def wall_seconds(job, events):
    """From the moment the job ran to its end, to the millisecond where the events tell."""
    at = {e["data"].get("status"): e["created_at"] for e in events if e["type"] == "status"}
    try:
        begin, end = (datetime.fromisoformat(at[s].replace("Z", "+00:00")) for s in ("running", "succeeded"))
        return (end - begin).total_seconds()
    except (KeyError, AttributeError, ValueError):
        return float(job["finished_at"] - job["started_at"])


def rounded(value):
    """The same with numbers of 5 significant digits, which is all that is shown and keeps the files small."""
    if isinstance(value, float):
        return float(f"{value:.5g}")
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
    published = docs / "study" / "results.json" if docs else None
    if not results["runs"] and published and published.exists():
        results = json.loads(published.read_text())
    if not results["runs"]:
        raise ServiceError(f"there are no results in {study.runs}")
    folder = study.out / "study"
    folder.mkdir(exist_ok=True)
    store(folder / "results.json", results)
    drawn, notes = figures.draw(Results(results), study.regimes, folder)
    (study.out / "RESULTS.md").write_text(report.text(Results(results), study.regimes, drawn))
    print(f"written: {study.out / 'RESULTS.md'}, {folder / 'results.json'} and {len(drawn)} figures", flush=True)
    if docs:
        docs = Path(docs)
        (docs / "study").mkdir(parents=True, exist_ok=True)
        shutil.copy(study.out / "RESULTS.md", docs / "RESULTS.md")
        for name in ["results.json", *drawn]:
            shutil.copy(folder / name, docs / "study" / name)
        print(f"copied to {docs / 'RESULTS.md'} and {docs / 'study'}")
    return notes


def run_jobs(study, program, url):
    """Runs the pending units on the named server, or on one of its own."""
    pending = len(study.pending())
    if pending == 0:
        print("everything is known already")
        return
    print(f"{len(study.units)} results, {pending} of them to make", flush=True)
    if url:
        client = Client(url, os.environ.get("ANNEAL_API_KEY"))
        study.build = f"anneal {client.call('/healthz').get('version', '?')}"
        study.machine = " and ".join(sorted({device["description"] for device in client.call("/v1/devices")["data"]}))
        study.run(client)
        return
    with Server(program, study.out) as server:
        client = Client(server.url)
        version = client.call("/healthz").get("version", "?")
        program_digest = hashlib.sha256(Path(program).read_bytes()).hexdigest()[:12]
        study.build = f"anneal {version} ({program_digest})"
        try:
            study.run(client, anew=True)
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
        "--server", metavar="URL", help="run the jobs on this server; a key for it stands in ANNEAL_API_KEY"
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
    parser.add_argument("--seeds", type=int, default=5, metavar="N", help="seeds 1 to N [default: 5]")
    parser.add_argument(
        "--regime",
        action="append",
        default=[],
        choices=[regime.name for regime in REGIMES],
        help="only this regime; may be repeated",
    )
    parser.add_argument(
        "--smoke",
        action="store_true",
        help="everything once and tiny; fails unless every job succeeds and every figure is complete. Results of the same tiny jobs are kept, too: after a change of the program add --fresh",
    )
    parser.add_argument("--report", action="store_true", help="run nothing; draw and write from the stored results, or from those in the folder of --docs")
    parser.add_argument("--fresh", action="store_true", help="forget stored results first")
    return parser.parse_args()


def main():
    args = arguments()
    if args.seeds < 1:
        raise ServiceError("--seeds must be at least 1")
    out = args.out.resolve() / ("smoke" if args.smoke else "")
    _lock = prepare(out, args.fresh)
    scale, seeds = (SMOKE, 1) if args.smoke else (FULL, args.seeds)
    # What is reported is everything that is known, whatever part of it was run now.
    study = Study(out, scale, seeds, args.regime)
    if not args.report:
        run_jobs(study, args.anneal, args.server)
    if study.failures:
        print(f"\n{len(study.failures)} failed:", *study.failures, sep="\n  ", file=sys.stderr)
    notes = write_results(Study(out, scale, seeds), args.docs)
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
