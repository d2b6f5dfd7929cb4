#!/usr/bin/env python3
"""Writes train.jsonl and eval.jsonl: small sums, differences and products as questions, one JSON object a line.

Columns: prompt, answer. The same seed gives the same files. No held-out problem occurs in the training rows, not
even with its operands swapped; kinds and phrasings are mixed, so that any first rows of a file are a fair sample.
"""

import argparse
import json
import random
from pathlib import Path

TRAIN_ROWS = 200
EVAL_ROWS = 50
# Of each kind of problem in a file, in tenths.
SHARES = {"+": 4, "-": 3, "x": 3}
MOST_TRIES = 100_000

PLAIN = "What is {a} {operation} {b}? Answer with just the number."
STORIES = {
    "+": "Tom has {a} marbles and finds {b} more. How many marbles does he have now? Answer with just the number.",
    "-": "A shop has {a} apples and sells {b} of them. How many apples are left? Answer with just the number.",
    "x": "There are {a} boxes with {b} pencils each. How many pencils are there? Answer with just the number.",
}
# One problem in so many is told as a story; stories are harder for a small model.
STORY_EVERY = 5


def problem(rng, operation):
    """Two operands and the result."""
    if operation == "+":
        a, b = rng.randint(10, 99), rng.randint(10, 99)
        return a, b, a + b
    if operation == "-":
        b, a = sorted((rng.randint(10, 99), rng.randint(10, 99)))
        return a, b, a - b
    a, b = rng.randint(2, 9), rng.randint(10, 99)
    return a, b, a * b


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
            text = STORIES[operation] if made % STORY_EVERY == 0 else PLAIN
            result.append({"prompt": text.format(a=a, b=b, operation=operation), "answer": answer})
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
