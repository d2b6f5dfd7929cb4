#!/usr/bin/env python3
"""Writes train.jsonl and eval.jsonl: small sums and differences as questions, one JSON object a line.

Columns: prompt, answer. The same seed gives the same files. No held-out problem occurs in the training rows, not
even with its operands swapped; the kinds are mixed, so that any first rows of a file are a fair sample.
"""

import argparse
import json
import random
from pathlib import Path

TRAIN_ROWS = 200
EVAL_ROWS = 50
# Of each kind of problem in a file, in tenths.
SHARES = {"+": 7, "-": 3}
MOST_TRIES = 100_000

QUESTION = "What is {a} {operation} {b}? Answer with just the number."


def problem(rng, operation):
    """Two operands and the result, small enough for a model of 135M parameters to be right now and then."""
    if operation == "+":
        a, b = rng.randint(1, 40), rng.randint(1, 9)
        return a, b, a + b
    b, a = sorted((rng.randint(1, 20), rng.randint(1, 20)))
    return a, b, a - b


def rows(rng, count, seen):
    """`count` rows with problems that are not in `seen`; adds them to it."""
    result = []
    for operation, share in SHARES.items():
        wanted = count * share // sum(SHARES.values())
        made = 0
        for _ in range(MOST_TRIES):
            if made == wanted:
                break
            a, b, answer = problem(rng, operation)
            key = (operation, min(a, b), max(a, b))
            if key in seen:
                continue
            seen.add(key)
            result.append({"prompt": QUESTION.format(a=a, b=b, operation=operation), "answer": answer})
            made += 1
        if made < wanted:
            raise SystemExit(f"there are not {wanted} different problems with {operation}")
    rng.shuffle(result)
    return result


def write(path, lines):
    with open(path, "w", encoding="utf-8") as file:
        for line in lines:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
    print(f"{path}: {len(lines)} rows")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="where to put train.jsonl and eval.jsonl")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    seen = set()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    write(arguments.folder / "eval.jsonl", rows(rng, EVAL_ROWS, seen))
    write(arguments.folder / "train.jsonl", rows(rng, TRAIN_ROWS, seen))


if __name__ == "__main__":
    main()
