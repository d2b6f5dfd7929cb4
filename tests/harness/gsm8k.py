"""GSM8K as tasks of lm-evaluation-harness, on a model that a job here has trained: gsm8k.py BASE_URL ANNEAL MODEL ROWS

The job adapts MODEL to the first 8 of ROWS; the harness asks for the last 12, by generation and by choosing among numbers. The
model's tokenizer comes from its own export, which transformers loads.
"""

import json
import re
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

from common import ask, evaluate, write_rows, write_task

BASE, ANNEAL, MODEL, ROWS = sys.argv[1:]
TRAINED = 8
folder = Path(tempfile.mkdtemp())


def final(text):
    return text.split("####")[-1].strip().replace(",", "")


rows = [json.loads(line) for line in Path(ROWS).read_text().splitlines()]
train = [{"prompt": f"Question: {row['question']}\nAnswer:", "completion": " " + row["answer"]} for row in rows[:TRAINED]]
held_out = []
for row in rows[TRAINED:]:
    answer = int(final(row["answer"]))
    choices = [answer, answer + 1, 2 * answer + 3, answer + 10]
    held_out.append({"question": row["question"], "answer": str(answer), "choices": [str(one) for one in choices]})


def anneal(*arguments):
    command = [ANNEAL, *arguments, "--server", BASE]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


data = folder / "train.jsonl"
data.write_text("".join(json.dumps(row) + "\n" for row in train))
spec = {
    "model": MODEL,
    "dataset": {"train": str(data), "format": "text"},
    "objective": {"type": "sft"},
    "adapter": {"type": "lora", "rank": 4},
    "optimizer": {"learning_rate": 0.0005},
    "train": {"steps": 4, "prompts_per_step": 4},
}
(folder / "job.json").write_text(json.dumps(spec))
job = anneal("run", str(folder / "job.json"), "--wait").splitlines()[0]
checkpoint = json.load(urllib.request.urlopen(f"{BASE}/v1/jobs/{job}", timeout=60))["result"]["checkpoint"]
anneal("export", checkpoint, "--format", "merged", "--dtype", "f32", "--output", str(folder / "merged"))

prompt = "Question: {{question}}\nAnswer:"
write_rows(folder, held_out)
write_task(
    folder,
    "gsm8k_choose",
    prompt,
    """output_type: multiple_choice
doc_to_target: 0
doc_to_choice: "{{choices}}"
metric_list: [{metric: acc, aggregation: mean, higher_is_better: true}]
""",
)
write_task(
    folder,
    "gsm8k_write",
    prompt,
    """output_type: generate_until
doc_to_target: "{{answer}}"
generation_kwargs: {until: ["Question:"], max_gen_toks: 96, temperature: 0}
filter_list:
  - name: last
    filter: [{function: regex, regex_pattern: "#### (-?[0-9,]+)"}, {function: take_first}]
metric_list: [{metric: exact_match, aggregation: mean, higher_is_better: true}]
""",
)


def run(task):
    arguments = {"model": checkpoint, "base_url": f"{BASE}/v1/completions", "tokenizer": str(folder / "merged"), "max_length": 1024}
    return evaluate(folder, task, "local-completions", arguments)


found, samples = run("gsm8k_write")
assert len(samples) == len(held_out), samples
right = 0
for sample in samples:
    row = held_out[sample["doc_id"]]
    body = {"model": checkpoint, "prompt": f"Question: {row['question']}\nAnswer:", "temperature": 0, "max_tokens": 96, "stop": ["Question:"]}
    text = ask(BASE, "/v1/completions", body)["choices"][0]["text"]
    assert sample["resps"][0][0] == text, (sample["resps"], text)
    numbers = re.findall(r"#### (-?[0-9,]+)", text)
    right += bool(numbers) and numbers[0] == row["answer"]
assert abs(found["exact_match,last"] - right / len(held_out)) < 1e-9, (found, right)

chosen, samples = run("gsm8k_choose")
for sample in samples[:3]:
    row = held_out[sample["doc_id"]]
    for choice, [[logprob, _]] in zip(row["choices"], sample["resps"], strict=True):
        asked = f"Question: {row['question']}\nAnswer:"
        body = {"model": checkpoint, "prompt": f"{asked} {choice}", "echo": True, "logprobs": 1, "max_tokens": 0}
        told = ask(BASE, "/v1/completions", body)["choices"][0]["logprobs"]
        own = [one for one, at in zip(told["token_logprobs"], told["text_offset"], strict=True) if at >= len(asked)]
        assert abs(sum(own) - float(logprob)) < 1e-4, (own, logprob)
print(f"ok: {len(held_out)} rows, exact {right / len(held_out):.2f}, chosen {chosen['acc,none']:.2f}")
