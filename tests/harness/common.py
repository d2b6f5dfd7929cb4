"""What both sets of tasks share: rows as a task's file, requests, and a run of lm-evaluation-harness."""

import json
import urllib.request

import lm_eval
from lm_eval.tasks import TaskManager


def write_rows(folder, rows):
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def write_task(folder, name, prompt, fields):
    """A task over the rows, whose prompt is a template; `fields` are lines of YAML."""
    (folder / f"{name}.yaml").write_text(
        f"""task: {name}
dataset_path: json
dataset_kwargs: {{data_files: {{test: {folder / "rows.jsonl"}}}, cache_dir: {folder / "cache"}}}
test_split: test
num_fewshot: 0
metadata: {{version: 1}}
doc_to_text: {json.dumps(prompt)}
{fields}"""
    )


def ask(base, path, body, timeout=600):
    request = urllib.request.Request(base + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=timeout) as answer:
        return json.load(answer)


def evaluate(folder, task, kind, arguments):
    """What the harness finds, and the answers that it got; `kind` is its name for a way to ask."""
    results = lm_eval.simple_evaluate(
        model=kind,
        model_args={"num_concurrent": 1, **arguments},
        tasks=[task],
        task_manager=TaskManager(include_path=str(folder), include_defaults=False),
        bootstrap_iters=0,
        log_samples=True,
        apply_chat_template=kind == "local-chat-completions",
    )
    return results["results"][task], results["samples"][task]
