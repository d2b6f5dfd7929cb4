"""How long math-verify takes for the cases that benches/math.rs measures, in processor time and without its time limits, which cost more.

    python3 -m venv target/math-verify && target/math-verify/bin/pip install math-verify==0.9.0
    target/math-verify/bin/python benches/math_peer.py tests/data/math_cases.jsonl
"""

import json
import statistics
import sys
import time

from math_verify import ExprExtractionConfig, LatexExtractionConfig, StringExtractionConfig, parse, verify

KINDS = {"latex": LatexExtractionConfig(), "expr": ExprExtractionConfig(), "string": StringExtractionConfig()}


def judged(case):
    kinds = case.get("match_types", "default")
    config = [KINDS[kind] for kind in (["latex", "expr"] if kinds == "default" else kinds)]
    expected = parse(case["gold"], extraction_config=config, parsing_timeout=None)
    given = parse(case["pred"], extraction_config=config, parsing_timeout=None)
    return verify(
        expected,
        given,
        float_rounding=case.get("precision", 6),
        strict=case.get("strict", True),
        allow_set_relation_comp=case.get("allow_set_relation_comp", False),
        timeout_seconds=None,
    )


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        cases = [json.loads(line) for line in file]
    for case in cases:
        judged(case)
    seconds = []
    for case in cases:
        start = time.process_time()
        judged(case)
        seconds.append(time.process_time() - start)
    mean, median = statistics.mean(seconds), statistics.median(seconds)
    print(f"{len(cases)} cases: {1 / mean:.0f} verdicts/s, mean {mean * 1e3:.2f} ms, median {median * 1e3:.2f} ms")


if __name__ == "__main__":
    main()
