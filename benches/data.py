"""How fast Python reads the files that `cargo bench --bench data` has left: into rows, one object each, which is what any
check of rows begins with.

    pip install pyarrow && python3 benches/data.py
"""

import csv
import gzip
import json
import time
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "target" / "data-bench"
RUNS = 3


def jsonl(path):
    with open(path, "rb") as file:
        return sum(1 for line in file if json.loads(line)["prompt"])


def packed(path):
    with gzip.open(path, "rb") as file:
        return sum(1 for line in file if json.loads(line)["prompt"])


def array(path):
    with open(path, "rb") as file:
        return sum(1 for row in json.load(file) if row["prompt"])


def table(path):
    with open(path, newline="", encoding="utf-8") as file:
        return sum(1 for row in csv.DictReader(file) if row["prompt"])


def parquet(path):
    import pyarrow.parquet

    batches = pyarrow.parquet.ParquetFile(path).iter_batches()
    return sum(1 for batch in batches for row in batch.to_pylist() if row["prompt"])


def main():
    lines = (FOLDER / "rows.jsonl").stat().st_size
    for name, read in [
        ("rows.jsonl", jsonl),
        ("rows.jsonl.gz", packed),
        ("rows.json", array),
        ("rows.csv", table),
        ("rows.parquet", parquet),
    ]:
        path = FOLDER / name
        best = float("inf")
        try:
            for _ in range(RUNS):
                begun = time.perf_counter()
                rows = read(path)
                best = min(best, time.perf_counter() - begun)
        except ImportError as error:
            print(f"{name}: {error}")
            continue
        of_file, of_lines = path.stat().st_size / 1e6 / best, lines / 1e6 / best
        print(f"{name}: {of_file:.0f} MB/s of the file, {of_lines:.0f} MB/s of JSON Lines, {rows} rows")


if __name__ == "__main__":
    main()
