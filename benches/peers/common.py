"""What the peer scripts share: threads, timing, memory, and the JSON object each of them prints.

Every script prints exactly one JSON object, alone on the last line of its standard output; anything else (progress,
warnings of the libraries) goes to standard error.
"""

import argparse
import importlib.metadata
import json
import os
import resource
import statistics
import sys
import time
from collections.abc import Callable

DEFAULT_THREADS = 2


def add_threads_argument(parser: argparse.ArgumentParser) -> None:
    """Adds `--threads`, which every peer takes and Anneal's run should match."""
    parser.add_argument("--threads", type=int, default=DEFAULT_THREADS, help="threads of the peer (default: 2)")


def limit_threads(threads: int) -> None:
    """Holds the libraries to `threads`. Must run before torch or llama_cpp is imported: OpenMP reads it once."""
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = str(threads)
    # Nothing here needs a network, and a tokenizer's own threads would compete with the model's.
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ["HF_DATASETS_OFFLINE"] = "1"
    os.environ["TOKENIZERS_PARALLELISM"] = "false"


def peak_memory_bytes() -> int:
    """Largest resident set of this process so far. Linux counts it in KiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def versions(*packages: str) -> dict[str, str]:
    """Installed version of each package, and Python's."""
    found = {"python": ".".join(str(part) for part in sys.version_info[:3])}
    for package in packages:
        found[package] = importlib.metadata.version(package)
    return found


def seconds_of(work: Callable[[], object]) -> float:
    """Wall-clock seconds of one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def median(values: list[float]) -> float:
    """Median of the measured repetitions."""
    return statistics.median(values)


def rounded(value: float) -> float:
    """Five significant digits: more would be noise."""
    return float(f"{value:.5g}")


def emit(**fields: object) -> None:
    """Prints the script's one JSON object, with floating-point numbers rounded."""
    shown = {name: rounded(value) if isinstance(value, float) else value for name, value in fields.items()}
    print(json.dumps(shown), flush=True)
