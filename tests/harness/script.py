"""Sums as tasks of lm-evaluation-harness: script.py BASE_URL"""

import random
import sys
import tempfile
from pathlib import Path

from common import ask, evaluate, write_rows, write_task

BASE = sys.argv[1]
MODEL = "builtin:arith-tiny"
ROWS = 24

folder = Path(tempfile.mkdtemp())
draw = random.Random(7)
rows = []
for _ in range(ROWS):
    a, b = draw.randint(10, 99), draw.randint(10, 99)
    wrong = draw.sample([a + b + off for off in (-20, -11, -2, 2, 9, 30)], 3)
    rows.append({"prompt": f"{a}+{b}=", "answer": str(a + b), "choices": [str(a + b), *map(str, wrong)]})
write_rows(folder, rows)
write_task(
    folder,
    "sums_choose",
    "{{prompt}}",
    """output_type: multiple_choice
doc_to_target: 0
doc_to_choice: "{{choices}}"
target_delimiter: ""
metric_list: [{metric: acc, aggregation: mean, higher_is_better: true}]
""",
)
write_task(
    folder,
    "sums_write",
    "{{prompt}}",
    """output_type: generate_until
doc_to_target: "{{answer}}"
target_delimiter: ""
generation_kwargs: {until: ["\\n", "="], max_gen_toks: 6, temperature: 0}
metric_list: [{metric: exact_match, aggregation: mean, higher_is_better: true}]
""",
)


def run(kind, url, task, **more):
    # The tokenizer is that of the model, from the program's own files.
    arguments = {"model": MODEL, "base_url": f"{BASE}{url}", "tokenizer": "assets/arith-tiny", **more}
    return evaluate(folder, task, kind, arguments)


def greedy(prompt):
    body = {"model": MODEL, "prompt": prompt, "temperature": 0, "max_tokens": 6, "stop": ["\n", "="]}
    return ask(BASE, "/v1/completions", body)["choices"][0]["text"]


# What generation finds is what the same requests by hand give.
expected = sum(greedy(row["prompt"]) == row["answer"] for row in rows) / ROWS
for model, url, more in (
    ("local-completions", "/v1/completions", {}),
    ("local-completions", "/v1/completions", {"tokenized_requests": False}),
    ("local-chat-completions", "/v1/chat/completions", {}),
):
    found, _ = run(model, url, "sums_write", **more)
    assert abs(found["exact_match,none"] - expected) < 1e-9, (model, more, found, expected)

# Choices are told apart by log-probabilities, which are sums of those of the tokens, one by one.
for tokenized in (True, False):
    found, samples = run("local-completions", "/v1/completions", "sums_choose", tokenized_requests=tokenized)
    assert found["acc,none"] > 0.5, found
    for sample in samples[:4]:
        row = rows[sample["doc_id"]]
        for choice, [[logprob, is_greedy]] in zip(row["choices"], sample["resps"], strict=True):
            text = row["prompt"] + choice
            body = {"model": MODEL, "prompt": text, "echo": True, "logprobs": 2, "max_tokens": 0, "temperature": 0}
            told = ask(BASE, "/v1/completions", body)["choices"][0]
            assert told["text"] == text and told["finish_reason"] == "length", told
            tokens = told["logprobs"]
            assert tokens["token_logprobs"][0] is None and tokens["top_logprobs"][0] is None, tokens
            own = tokens["token_logprobs"][len(row["prompt"]) :]
            assert abs(sum(own) - float(logprob)) < 1e-5, (own, logprob)
            tops = tokens["top_logprobs"][len(row["prompt"]) :]
            assert all(max(top.values()) == one for top, one in zip(tops, own, strict=True)) == (str(is_greedy) == "True")
print(f"ok: accuracy {found['acc,none']:.2f}, exact {expected:.2f}")
