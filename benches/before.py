"""Small jobs of every objective by this program and by another version of it, in turn: what a change costs or saves of a whole job.

    python3 benches/before.py --anneal target/release/anneal --other ../before/target/release/anneal [--rounds 3]

What is told of each is the median time from the first step to the last, and the ratio of the other's to this one's: above 1 this
one is quicker. Whether both made the same weights is said beside it; versions may differ in what they draw.
"""

import argparse
import json
import math
import statistics
import tempfile
from pathlib import Path

from ahead import STEPS, seconds_of

SPECS = Path(__file__).resolve().parent.parent / "examples/study"
NAMES = ("sft", "bolt", "grpo", "p3o", "fade", "vopd")


def spec_of(name):
    spec = json.loads((SPECS / f"{name}.json").read_text())
    spec["train"] = {**spec["train"], "steps": STEPS}
    spec["eval"] = {"before": False, "samples": 1, "prompts": 4, "pass_at": [1]}
    del spec["checkpoints"]
    # The first job has two steps.
    spec["objective"].pop("rounds", None)
    return spec


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--anneal", required=True)
    parser.add_argument("--other", required=True)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    print("| objective | before, s | now, s | ratio | weights |\n|---|---|---|---|---|", flush=True)
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        settings = Path(folder, "anneal.toml")
        settings.write_text("")
        for name in NAMES:
            found = {program: [] for program in (arguments.other, arguments.anneal)}
            for _ in range(arguments.rounds):
                for program, runs in found.items():
                    runs.append(seconds_of(program, settings, spec_of(name)))
            before, now = (statistics.median(seconds for seconds, _ in runs) for runs in found.values())
            same = len({digest for runs in found.values() for _, digest in runs}) == 1
            ratios.append(before / now)
            print(f"| {name} | {before:.2f} | {now:.2f} | {ratios[-1]:.2f} | {'the same' if same else 'others'} |", flush=True)
    print(f"| | | | {math.exp(statistics.mean(map(math.log, ratios))):.2f} | |")


if __name__ == "__main__":
    main()
