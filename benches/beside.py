"""A training step of Anneal beside that of another program at the same moment: one thread each, on a core each, and then with the
cores exchanged. A machine whose clock moves says more in this way than by taking turns.

    python3 benches/beside.py --anneal target/release/anneal [--compute f32] [--sequences 8x128] [--rounds 2]
    python3 benches/beside.py --anneal target/release/anneal --other ../before/target/release/anneal

Without `--other` the other program is PyTorch's step (benches/peers/torch_train.py, run by this Python; needs its requirements).
What follows both is not counted: whoever ends first leaves a core empty, so that steps are measured while both run only if they
take about as long.
"""

import argparse
import json
import math
import os
import subprocess
import sys
from pathlib import Path

DTYPES = {"f32": "f32", "bf16": "bf16-autocast"}


def on_core(core, command, **environment):
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | environment,
        preexec_fn=lambda: os.sched_setaffinity(0, {core}),
    )


def anneal(core, program, arguments):
    command = [program, "bench", "--model", arguments.model, "--compute", arguments.compute, "--json"]
    return on_core(core, [*command, "--only", "train", "--sequences", arguments.sequences])


def torch(core, arguments):
    count, length = arguments.sequences.split("x")
    script = Path(__file__).parent / "peers" / "torch_train.py"
    command = [sys.executable, script, "--model", arguments.model, "--dtype", DTYPES[arguments.compute], "--threads", "1"]
    return on_core(core, [*command, "--sequences", count, "--length", length], OMP_NUM_THREADS="1")


def rate(process):
    output, _ = process.communicate()
    if process.returncode:
        raise RuntimeError(f"{process.args[0]} ended with {process.returncode}")
    answer = json.loads(output)
    rows = [row for row in answer.get("results", [answer]) if row.get("name", "train") == "train" and not row.get("recompute")]
    return rows[0]["tokens_per_second"]


def two_cores():
    """Two processors that share no core."""
    allowed = sorted(os.sched_getaffinity(0))
    for other in allowed[1:]:
        siblings = Path(f"/sys/devices/system/cpu/cpu{other}/topology/thread_siblings_list")
        if str(allowed[0]) not in siblings.read_text().strip().replace("-", ",").split(","):
            return [allowed[0], other]
    sys.exit("two cores are needed")


def both(processes):
    """The rates of two programs; when one fails the other is ended too."""
    try:
        return [rate(process) for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--anneal", required=True, help="the program")
    parser.add_argument("--other", help="the same program of another version")
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--compute", choices=sorted(DTYPES), default="f32")
    parser.add_argument("--sequences", default="8x128", help="how many, and of how many tokens")
    parser.add_argument("--rounds", type=int, default=2)
    arguments = parser.parse_args()
    cores = two_cores()
    print("| core | Anneal, tokens/s | beside it | ratio |\n|---|---|---|---|", flush=True)
    ratios = []
    for _ in range(arguments.rounds):
        for own, others in (cores, reversed(cores)):
            first = anneal(own, arguments.anneal, arguments)
            second = anneal(others, arguments.other, arguments) if arguments.other else torch(others, arguments)
            of_own, of_other = both([first, second])
            ratios.append(of_own / of_other)
            print(f"| {own} | {of_own:.0f} | {of_other:.0f} | {ratios[-1]:.2f} |", flush=True)
    print(f"| | | | {math.exp(sum(map(math.log, ratios)) / len(ratios)):.2f} |")


if __name__ == "__main__":
    main()
