"""Compares Anneal with its peers on this machine: every case of a peer, right beside `anneal bench` of the same shape.

    python run.py --anneal target/release/anneal --gguf-dir models --output results.json

Writes every run to the output file and prints a Markdown table. Progress goes to standard error.

How it keeps the comparison fair:

- Anneal and the peers run one after the other, never together, and alternate: all programs of a group in each round, so
  that whatever else the machine does meets all of them. A figure is the median over the rounds.
- All of them are held to the same `--threads` processors.
- The peers get the shape (prompt and completion lengths) from Anneal's own row, and run as fast as their settings
  allow: see each script.
- Peak memory is the largest resident set that the kernel reports of each process, measured here, the same for all.
  PyTorch's includes its libraries (about 0.75 GB for the wheel with CUDA in it), so the table has a second row without.
- A run during which other programs took more than `--tolerance` of the processors is repeated, and the quietest one
  counts. If even that one was disturbed, the row says so and no verdict: PyTorch in particular slows down far more
  than its share of the processors explains. The share stays in the output file as `others_share`.

Without `--anneal` only the peers are measured.
"""

import argparse
import dataclasses
import datetime
import json
import os
import platform
import re
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import common

HERE = Path(__file__).resolve().parent
# Of the adapters that are trained.
RANK = 16
MODELS = ("tiny", "smollm2-135m", "qwen3-0.6b")


class RunError(Exception):
    """A program that failed, or one whose result lacks what was asked for."""


@dataclasses.dataclass(frozen=True)
class Quantity:
    """What is compared: where it stands in either result, and how it is shown."""

    anneal_row: str
    field: str
    peer_field: str
    unit: str
    more_is_better: bool = True

    def shown(self, value: float | None) -> str:
        """The value for the table."""
        if value is None:
            return "–"
        if self.unit == "GB":
            return f"{value / 1e9:.2f} GB"
        return f"{value:,.0f} {self.unit}" if value >= 100 else f"{value:.3g} {self.unit}"


TRAINING = Quantity("train", "tokens_per_second", "tokens_per_second", "tok/s")
DECODE = Quantity("decode", "tokens_per_second", "decode_tokens_per_second", "tok/s")
PREFILL = Quantity("prefill", "tokens_per_second", "prefill_tokens_per_second", "tok/s")
STEP = Quantity("grpo_step", "seconds", "seconds", "s", more_is_better=False)
MEMORY = Quantity("", "max_resident_bytes", "max_resident_bytes", "GB", more_is_better=False)
MEMORY_OF_WORK = Quantity("", "max_resident_bytes", "work_bytes", "GB", more_is_better=False)


@dataclasses.dataclass(frozen=True)
class Claim:
    """A row of the table. The target is a ratio: at least that much faster, or at most that share of the memory."""

    quantity: Quantity
    target: float | None = None


@dataclasses.dataclass(frozen=True)
class Peer:
    """One program of a group and what is claimed against it."""

    name: str
    script: str
    arguments: tuple[str, ...]
    claims: tuple[Claim, ...]


@dataclasses.dataclass(frozen=True)
class Group:
    """A run of `anneal bench` and the peers of the same shape."""

    title: str
    model: str
    compute: str
    only: str
    peers: tuple[Peer, ...]
    batch: int | None = None
    prompt: int | None = None
    shape: dict[str, int] = dataclasses.field(default_factory=dict)
    lora: int | None = None
    int8: bool = False


def adapter(peer: Peer) -> Peer:
    """The same, with an adapter beside the frozen model."""
    name = peer.name.replace("torch", "peft") if "torch" in peer.name else f"{peer.name}, peft"
    return dataclasses.replace(peer, name=name, arguments=(*peer.arguments, "--lora", str(RANK)))


def train_groups(quick: bool) -> list[Group]:
    """Training steps, and the memory that they need."""
    steps = ("--steps", "3") if quick else ("--steps", "5")

    def peer(dtype: str, sequences: int, length: int, claims: tuple[Claim, ...]) -> Peer:
        shape = ("--sequences", str(sequences), "--length", str(length), "--dtype", dtype)
        return Peer(f"torch {dtype}", "torch_train.py", shape + steps, claims)

    memory = (Claim(MEMORY, 0.8), Claim(MEMORY_OF_WORK))
    of_adapter = (Claim(MEMORY, 1.0), Claim(MEMORY_OF_WORK))
    tiny, large = {"sequences": 64, "length": 64}, {"sequences": 8, "length": 128}
    long = {"sequences": 1, "length": 2048}
    return [
        Group(
            "train 64 x 64",
            "tiny",
            "f32",
            "train",
            (peer("f32", 64, 64, (Claim(TRAINING, 1.5),)),),
            shape=tiny,
        ),
        Group(
            "train 64 x 64",
            "tiny",
            "bf16",
            "train",
            (peer("bf16-autocast", 64, 64, (Claim(TRAINING),)),),
            shape=tiny,
        ),
        Group(
            "train 8 x 128",
            "smollm2-135m",
            "f32",
            "train",
            (peer("f32", 8, 128, (Claim(TRAINING, 1.6), *memory)),),
            shape=large,
        ),
        Group(
            "train 8 x 128",
            "smollm2-135m",
            "bf16",
            "train",
            (
                peer("bf16-autocast", 8, 128, (Claim(TRAINING, 1.0), *memory)),
                peer("bf16", 8, 128, (Claim(TRAINING),)),
            ),
            shape=large,
        ),
        Group(
            "train 1 x 2,048",
            "smollm2-135m",
            "f32",
            "train",
            (peer("f32", 1, 2048, (Claim(TRAINING, 1.15), *memory)),),
            shape=long,
        ),
        Group(
            "train 1 x 2,048",
            "smollm2-135m",
            "bf16",
            "train",
            (peer("bf16-autocast", 1, 2048, (Claim(TRAINING, 1.0), *memory)),),
            shape=long,
        ),
        Group(
            f"LoRA {RANK}, 8 x 128",
            "smollm2-135m",
            "f32",
            "train",
            (adapter(peer("f32", 8, 128, (Claim(TRAINING, 2.0), *of_adapter))),),
            shape=large,
            lora=RANK,
        ),
        Group(
            f"LoRA {RANK}, 8 x 128",
            "smollm2-135m",
            "bf16",
            "train",
            (adapter(peer("bf16-autocast", 8, 128, (Claim(TRAINING, 1.3), *of_adapter))),),
            shape=large,
            lora=RANK,
        ),
        Group(
            "train 8 x 128",
            "qwen3-0.6b",
            "bf16",
            "train",
            (peer("bf16-autocast", 8, 128, (Claim(TRAINING, 1.3), Claim(MEMORY))),),
            shape=large,
        ),
    ]


def sample_groups(quick: bool, gguf: dict[tuple[str, str], Path]) -> list[Group]:
    """Sampling: decode and prefill speed."""
    repetitions = ("--repetitions", "1") if quick else ("--repetitions", "3")

    def transformers(batch: int, dtype: str, target: float | None) -> Peer:
        arguments = ("--batch", str(batch), "--dtype", dtype, *repetitions)
        return Peer(f"transformers {dtype}", "generate.py", arguments, (Claim(DECODE, target), Claim(PREFILL)))

    def llama(model: str, batch: int, dtype: str, target: float | None) -> list[Peer]:
        if (model, dtype) not in gguf:
            return []
        arguments = ("--gguf", str(gguf[model, dtype]), "--dtype", dtype, "--batch", str(batch), *repetitions)
        return [Peer(f"llama.cpp {dtype}", "llama_cpp_bench.py", arguments, (Claim(DECODE, target), Claim(PREFILL)))]

    qwen = [*llama("qwen3-0.6b", 1, "bf16", 1.0), transformers(1, "bf16", None)]
    groups = [
        Group("sample 64", "tiny", "f32", "sample", (transformers(64, "f32", 3.0),), batch=64),
        Group("sample 64", "tiny", "bf16", "sample", (transformers(64, "bf16", None),), batch=64),
        Group("sample 1", "qwen3-0.6b", "bf16", "sample", tuple(qwen), batch=1),
    ]
    for dtype in ("f32", "bf16"):
        # Batch 8 of llama.cpp has no target of its own; its figure completes the table.
        for batch, llama_target in ((1, 0.9), (8, None), (32, 1.0)):
            peers = [*llama("smollm2-135m", batch, dtype, llama_target), transformers(batch, dtype, 2.5)]
            groups.append(Group(f"sample {batch}", "smollm2-135m", dtype, "sample", tuple(peers), batch=batch))
        behind = llama("smollm2-135m", 1, dtype, None)
        if behind:
            groups.append(
                Group("sample 1 behind 4,096", "smollm2-135m", dtype, "sample", tuple(behind), batch=1, prompt=4096)
            )
    coded = tuple(llama("smollm2-135m", 1, "q8_0", 1.0))
    for dtype in ("f32", "bf16") if coded else ():
        groups.append(Group("sample 1", "smollm2-135m", dtype, "sample", coded, batch=1, int8=True))
    return groups


def step_groups(quick: bool) -> list[Group]:
    """Whole reinforcement learning steps."""

    def peer(dtype: str, target: float | None, steps: int) -> Peer:
        arguments = ("--prompts", "8", "--completions", "8", "--dtype", dtype, "--steps", str(steps))
        return Peer(f"TRL {dtype}", "trl_grpo.py", arguments, (Claim(STEP, target),))

    shape = {"prompts": 8, "completions": 8, "new_tokens": 64}
    tiny_steps = 1 if quick else 5
    return [
        Group("GRPO step 8 x 8 x 64", "tiny", "f32", "step", (peer("f32", 2.0, tiny_steps),), shape=shape),
        Group("GRPO step 8 x 8 x 64", "tiny", "bf16", "step", (peer("f32", 3.0, tiny_steps),), shape=shape),
        Group(
            "GRPO step 8 x 8 x 64",
            "smollm2-135m",
            "bf16",
            "step",
            (peer("bf16", 3.0, 1), peer("bf16-autocast", None, 1)),
            shape=shape,
        ),
        Group(
            f"GRPO step 8 x 8 x 64, LoRA {RANK}",
            "smollm2-135m",
            "bf16",
            "step",
            (adapter(peer("bf16-autocast", 3.0, 1)),),
            shape=shape,
            lora=RANK,
        ),
    ]


def processor_seconds(cpus: set[int]) -> float:
    """Seconds that these processors have worked since the machine started, for whomever, stolen time included."""
    ticks = 0
    for line in Path("/proc/stat").read_text().splitlines():
        name, *fields = line.split()
        if re.fullmatch(r"cpu\d+", name) and int(name[3:]) in cpus:
            user, nice, system, _idle, _wait, interrupts, soft_interrupts, stolen = map(int, fields[:8])
            ticks += user + nice + system + interrupts + soft_interrupts + stolen
    return ticks / os.sysconf("SC_CLK_TCK")


def execute(command: list[str]) -> dict:
    """Runs a program and returns the JSON object it prints, with what the kernel says of the process added to it."""
    cpus = os.sched_getaffinity(0)
    busy, start = processor_seconds(cpus), time.perf_counter()
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        wall = time.perf_counter() - start
        others = processor_seconds(cpus) - busy - usage.ru_utime - usage.ru_stime
        output.seek(0)
        errors.seek(0)
        printed = output.read()
        if process.returncode != 0:
            raise RunError(f"exit status {process.returncode}: {errors.read().strip()[-500:]}")
    # A script prints its object on the last line; `anneal bench` may spread its one over several.
    for text in (printed, printed.strip().rpartition("\n")[2]):
        try:
            result = json.loads(text)
        except json.JSONDecodeError:
            continue
        if isinstance(result, dict):
            result["max_resident_bytes"] = usage.ru_maxrss * 1024
            result["wall_seconds"] = common.rounded(wall)
            result["others_share"] = common.rounded(max(0.0, others / (wall * len(cpus))))
            return result
    raise RunError(f"no JSON object in the output: {printed[-200:]!r}")


def wait_for_quiet(tolerance: float, patience_seconds: float = 120.0) -> None:
    """Returns once the processors have nothing else to do, or when waiting has been in vain for long enough."""
    cpus = os.sched_getaffinity(0)
    end = time.perf_counter() + patience_seconds
    while time.perf_counter() < end:
        busy, start = processor_seconds(cpus), time.perf_counter()
        time.sleep(2)
        if processor_seconds(cpus) - busy <= tolerance * len(cpus) * (time.perf_counter() - start):
            return


def quietest(command: list[str], attempts: int, tolerance: float) -> dict:
    """Runs a program until a run was left in peace, at most `attempts` times, and returns the quietest run."""
    best: dict | None = None
    for _ in range(attempts):
        wait_for_quiet(tolerance)
        print(f"$ {shlex.join(command)}", file=sys.stderr, flush=True)
        result = execute(command)
        if best is None or result["others_share"] < best["others_share"]:
            best = result
        if best["others_share"] <= tolerance:
            break
        print(f"  others took {result['others_share']:.0%} of the processors", file=sys.stderr, flush=True)
    return best


def anneal_command(binary: Path, group: Group) -> list[str]:
    """The `anneal bench` of a group."""
    command = [str(binary), "bench", "--model", group.model, "--compute", group.compute, "--only", group.only, "--json"]
    command += ["--lora", str(group.lora)] if group.lora else []
    command += ["--int8"] if group.int8 else []
    command += ["--prompt", str(group.prompt)] if group.prompt else []
    if "sequences" in group.shape:
        command += ["--sequences", f"{group.shape['sequences']}x{group.shape['length']}"]
    return command + (["--batch", str(group.batch)] if group.batch else [])


def anneal_row(result: dict, group: Group, name: str) -> dict | None:
    """The row of `anneal bench`'s results with this name and the group's shape."""
    wanted = dict(group.shape) | ({"batch": group.batch} if group.batch else {})
    wanted |= {"prompt_tokens": group.prompt} if group.prompt else {}
    for row in result["results"]:
        if row["name"] == name and all(row.get(field, value) == value for field, value in wanted.items()):
            return row
    return None


def peer_command(group: Group, peer: Peer, anneal: dict | None, threads: int) -> list[str]:
    """The peer's command line, with lengths as in Anneal's row."""
    command = [sys.executable, str(HERE / peer.script), *peer.arguments, "--model", group.model]
    command += ["--threads", str(threads)]
    row = anneal and anneal_row(anneal, group, {"sample": "decode", "step": "grpo_step"}.get(group.only, ""))
    for field in ("prompt_tokens", "new_tokens"):
        if row and field in row:
            command += ["--" + field.replace("_", "-"), str(row[field])]
    return command


def middle(values: list[float | None]) -> float | None:
    """Median of the values that are there."""
    present = [value for value in values if value is not None]
    return statistics.median(present) if present else None


def measure(group: Group, args: argparse.Namespace) -> list[dict]:
    """Runs the programs of a group, round after round, and returns its rows."""
    anneal_runs: list[dict] = []
    peer_runs: dict[str, list[dict]] = {peer.name: [] for peer in group.peers}
    failures: dict[str, str] = {}

    def attempt(name: str, command: list[str], runs: list[dict]) -> None:
        if name in failures:
            return
        try:
            runs.append(quietest(command, args.attempts, args.tolerance))
        except RunError as error:
            failures[name] = str(error)
            print(f"{name} failed: {error}", file=sys.stderr, flush=True)

    for _ in range(args.rounds):
        if args.anneal:
            attempt("anneal", anneal_command(args.anneal, group), anneal_runs)
        for peer in group.peers:
            shape_of = anneal_runs[-1] if anneal_runs else None
            attempt(peer.name, peer_command(group, peer, shape_of, args.threads), peer_runs[peer.name])

    def anneal_value(run: dict, quantity: Quantity) -> float | None:
        if not quantity.anneal_row:
            return run.get(quantity.field)
        row = anneal_row(run, group, quantity.anneal_row)
        return row.get(quantity.field) if row else None

    def peer_value(run: dict, quantity: Quantity) -> float | None:
        if quantity is MEMORY_OF_WORK:
            return run["max_resident_bytes"] - run["imports_memory_bytes"]
        return run.get(quantity.peer_field)

    rows = []
    for peer in group.peers:
        compared = anneal_runs + peer_runs[peer.name]
        for claim in peer.claims:
            quantity = claim.quantity
            ours = middle([anneal_value(run, quantity) for run in anneal_runs])
            theirs = middle([peer_value(run, quantity) for run in peer_runs[peer.name]])
            ratio, met = None, None
            if ours and theirs:
                # Memory compares as a share, everything else as a speed-up.
                ratio = ours / theirs if quantity.more_is_better or quantity.unit == "GB" else theirs / ours
                if claim.target is not None:
                    met = ratio <= claim.target if quantity.unit == "GB" else ratio >= claim.target
            rows.append(
                {
                    "what": what_of(group, quantity),
                    "model": group.model,
                    "anneal_compute": group.compute,
                    "peer": peer.name,
                    "unit": "bytes" if quantity.unit == "GB" else quantity.unit,
                    "anneal": ours,
                    "peer_value": theirs,
                    "ratio": ratio and common.rounded(ratio),
                    "target": claim.target,
                    "met": met,
                    "anneal_shown": quantity.shown(ours),
                    "peer_shown": quantity.shown(theirs),
                    "at_most": quantity.unit == "GB",
                    "disturbed": any(run["others_share"] > args.tolerance for run in compared),
                    "failures": {name: text for name, text in failures.items() if name in ("anneal", peer.name)},
                    "anneal_runs": anneal_runs,
                    "peer_runs": peer_runs[peer.name],
                }
            )
    return rows


def what_of(group: Group, quantity: Quantity) -> str:
    """Name of a row."""
    detail = {
        TRAINING: group.title,
        DECODE: f"decode, batch {group.batch}",
        PREFILL: f"prefill, batch {group.batch}",
        STEP: group.title,
        MEMORY: f"peak memory of {group.title}",
        MEMORY_OF_WORK: f"peak memory of {group.title}, the peer's without its libraries",
    }[quantity]
    return f"{group.model}: {detail}{', codes of 8 bits' if group.int8 else ''}"


def table(rows: list[dict]) -> str:
    """The rows as Markdown."""
    lines = ["| what | anneal | peer | ratio | target | |", "|---|---|---|---|---|---|"]
    for row in rows:
        ratio = "–" if row["ratio"] is None else f"{row['ratio']:.2f}"
        target = "" if row["target"] is None else f"{'≤' if row['at_most'] else '≥'} {row['target']:g}"
        if row["failures"]:
            verdict = "failed"
        elif row["disturbed"]:
            verdict = "disturbed"
        elif row["target"] is not None and row["ratio"] is None:
            verdict = "no figure"
        else:
            verdict = {None: "", True: "met", False: "**missed**"}[row["met"]]
        ours = f"{row['anneal_compute']} {row['anneal_shown']}"
        theirs = f"{row['peer']} {row['peer_shown']}"
        lines.append(f"| {row['what']} | {ours} | {theirs} | {ratio} | {target} | {verdict} |")
    return "\n".join(lines)


def gguf_files(directory: Path | None) -> dict[tuple[str, str], Path]:
    """The file of each model and precision in a folder, told by its name; one that names no model is SmolLM2-135M."""
    found: dict[tuple[str, str], Path] = {}
    for path in sorted(directory.glob("*.gguf")) if directory else ():
        named = re.search(r"(?<![a-z0-9])(bf16|f32|q8_0)(?![a-z0-9])", path.stem.lower())
        model = next((model for model in MODELS if path.stem.lower().startswith(model)), "smollm2-135m")
        if named:
            found.setdefault((model, named.group(1)), path)
    return found


def processor_name() -> str:
    """The processor's name as the kernel tells it."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor()


def arguments() -> argparse.Namespace:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--anneal", type=Path, help="the anneal program, built for release")
    parser.add_argument("--output", type=Path, required=True, help="JSON file with every run")
    parser.add_argument("--only", choices=MODELS, help="only the cases of this model")
    parser.add_argument("--kind", choices=("train", "sample", "step"), action="append", help="only these cases")
    files = "folder with GGUF files: SmolLM2-135M in f32, bf16 and q8_0, qwen3-0.6b-bf16.gguf"
    parser.add_argument("--gguf-dir", type=Path, help=files)
    parser.add_argument("--quick", action="store_true", help="one round with few repetitions")
    parser.add_argument("--rounds", type=int, help="rounds of every group (default: 3, with --quick 1)")
    parser.add_argument("--attempts", type=int, default=3, help="runs at most until one is undisturbed (default: 3)")
    parser.add_argument("--tolerance", type=float, default=0.05, help="share others may take (default: 0.05)")
    common.add_threads_argument(parser)
    args = parser.parse_args()
    args.rounds = args.rounds or (1 if args.quick else 3)
    if args.anneal:
        args.anneal = args.anneal.resolve()
    return args


def main() -> int:
    """Runs the comparison. Fails if a program failed, not if a target was missed."""
    args = arguments()
    cpus = sorted(os.sched_getaffinity(0))[: args.threads]
    # Every program started from here inherits it.
    os.sched_setaffinity(0, cpus)
    gguf = gguf_files(args.gguf_dir)
    if args.only != "tiny" and len(gguf) < 3:
        print("llama.cpp is left out where --gguf-dir has no file of a model and precision", file=sys.stderr)
    groups = train_groups(args.quick) + sample_groups(args.quick, gguf) + step_groups(args.quick)
    rows: list[dict] = []
    for group in groups:
        if (args.only and group.model != args.only) or (args.kind and group.only not in args.kind):
            continue
        rows += measure(group, args)
        report = {
            "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "machine": {"cpu": processor_name(), "threads": len(cpus), "kernel": platform.release()},
            "rounds": args.rounds,
            "quick": args.quick,
            "rows": rows,
        }
        args.output.write_text(json.dumps(report, indent=1) + "\n")
    print(table(rows))
    return 1 if any(row["failures"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
