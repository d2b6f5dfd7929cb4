"""What other processes on the same cores cost: training and sampling alone, and beside 1, 2 and 4 processes that compute.

    python3 benches/contention.py --anneal target/release/anneal [--model tiny] [--torch]

Every figure is a rate beside `k` busy processes, divided by the rate alone just before, and by the share of the cores that is
fair: where `t` threads and `k` processes want `c` cores, `c / (t + k)` of what is there, or all of it. 1 is ideal. With `--torch`
the same is done with PyTorch's training (benches/peers/torch_train.py; needs its requirements).

Linux gives sessions equal shares where /proc/sys/kernel/sched_autogroup_enabled is 1, whatever they run: all processes are
started from here, in one session, so that each thread counts.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

BUSY = [sys.executable, "-c", "while True: pass"]


def anneal(program, model):
    """Rates by what they are of."""
    command = [program, "bench", "--model", model, "--only", "sample,train,step", "--batch", "8", "--json"]
    results = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["results"]
    rates = {}
    for row in results:
        if row["name"] in ("prefill", "decode", "train", "step") and not row.get("recompute"):
            rates.setdefault(row["name"], row.get("tokens_per_second") or 1 / row["seconds"])
    return rates


def torch(model):
    script = Path(__file__).parent / "peers" / "torch_train.py"
    shape = ["--model", model, "--sequences", "64", "--length", "64", "--dtype", "f32"]
    output = subprocess.run([sys.executable, script, *shape], check=True, capture_output=True, text=True).stdout
    return {"PyTorch: train": json.loads(output)["tokens_per_second"]}


def beside(count, measure):
    busy = [subprocess.Popen(BUSY) for _ in range(count)]
    try:
        return measure()
    finally:
        for process in busy:
            process.kill()
            process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--anneal", required=True, help="the program")
    parser.add_argument("--model", default="tiny")
    parser.add_argument("--torch", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    cores = len(os.sched_getaffinity(0))

    def measure():
        rates = anneal(arguments.anneal, arguments.model)
        return rates | torch(arguments.model) if arguments.torch else rates

    found = {}
    for _ in range(arguments.rounds):
        for count in (1, 2, 4):
            alone, rates = measure(), beside(count, measure)
            fair = min(1, cores / (cores + count))
            for name, rate in rates.items():
                found.setdefault(name, {}).setdefault(count, []).append(rate / alone[name] / fair)
    print("| share of what is fair | beside 1 | beside 2 | beside 4 |\n|---|---|---|---|")
    for name, shares in found.items():
        print(f"| {name} | " + " | ".join(f"{statistics.median(shares[count]):.2f}" for count in (1, 2, 4)) + " |")


if __name__ == "__main__":
    main()
