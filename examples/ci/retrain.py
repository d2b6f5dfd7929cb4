#!/usr/bin/env python3
"""Retrains on new rows and publishes the model only when it is better: the script part of the CI examples.

It needs Python 3.8 or later without packages, and the `anneal` program, which finds its server in ANNEAL_SERVER and its
key in ANNEAL_API_KEY. The job carries --run in its metadata, and every request that makes something an idempotency key
from it, so that a repeated pipeline finds what its earlier attempt made and makes nothing twice. A lost connection is
taken up again by `anneal`.

    append the new rows -> train -> evaluate champion and candidate on the same rows and seed -> compare row by row
    better: publish    worse: keep the champion    inconclusive: keep it too, and say so

Exit codes: 0 published, kept or inconclusive (unless --fail-on says otherwise), 10 the candidate is worse or the
job's own gate failed, 11 inconclusive with --fail-on inconclusive, 20 a job failed, 21 the spec was refused,
30 cancelled, 40 paused, 50 timeout, 1 anything else, 2 wrong arguments.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from xml.sax.saxutils import quoteattr

OK, GATE_FAILED, INCONCLUSIVE = 0, 10, 11
WORDS = {10: "the job's gate failed", 20: "the job failed", 21: "the request was refused", 30: "it was cancelled",
         40: "it is paused", 50: "it was not over in time"}


class Stop(Exception):
    """An end without an answer: a step failed."""

    def __init__(self, step, code, detail):
        super().__init__(f"{step}: {detail}")
        self.step, self.code, self.detail = step, code, detail


def anneal(options, step, *arguments, gate=False):
    """Runs a command of `anneal` and returns what it answers; progress goes to this script's standard error."""
    began = time.monotonic()
    command = [options.anneal, *arguments, "--json"]
    lines = []
    # Standard output goes to a file, so that nothing blocks while the log is read as it comes. With --json the log's
    # last line says in JSON what went wrong.
    with tempfile.TemporaryFile("w+", encoding="utf-8") as answer:
        with subprocess.Popen(command, stdout=answer, stderr=subprocess.PIPE, text=True) as process:
            for line in process.stderr:
                lines.append(line)
                sys.stderr.write(line)
        answer.seek(0)
        out = answer.read()
    options.steps.append((step, time.monotonic() - began))
    if process.returncode == OK or (gate and process.returncode == GATE_FAILED):
        return json.loads(out)
    raise Stop(step, process.returncode if process.returncode in WORDS else 1, reason(process.returncode, out, lines))


def reason(code, out, lines):
    """Why a command failed, in a sentence."""
    for text in [out, *reversed(lines)]:
        try:
            document = json.loads(text)
        except ValueError:
            continue
        failure = document.get("failure") or {}
        detail = document.get("detail") or failure.get("message")
        if detail:
            return detail
    return WORDS.get(code, (lines[-1].strip() if lines else "") or f"exit code {code}")


def read_json(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def write_whole(path, text):
    """Writes a file so that a reader sees the old one or the new one and nothing in between, also after a crash."""
    folder = os.path.dirname(os.path.abspath(path))
    os.makedirs(folder, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=folder, delete=False, encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.chmod(file.name, 0o644)
    os.replace(file.name, path)
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def key(options, *what):
    """An idempotency key: the same in every attempt of this run, and another for everything else."""
    return "retrain-" + hashlib.sha256("\n".join([options.run, *what]).encode()).hexdigest()[:40]


def earlier(options):
    """The jobs that earlier attempts of this run have submitted, the newest first."""
    jobs = anneal(options, "look for earlier attempts", "jobs", "list", "--limit", "100")["data"]
    return [job for job in jobs if job["kind"] == "train" and (job.get("metadata") or {}).get("run") == options.run]


def append(options, jobs):
    """Adds the new rows, unless an earlier attempt has; returns the version to train on."""
    if jobs:
        return {"id": jobs[0]["spec"]["dataset"]["train"]}
    if options.rows and os.path.getsize(options.rows) > 0:
        version = anneal(options, "append", "datasets", "append", options.dataset, options.rows,
                         "--idempotency-key", key(options, "append"))
        return version.get("latest", version)
    return anneal(options, "data set", "datasets", "get", options.dataset)["latest"]


def train(options, version, jobs):
    """Waits for the job of an earlier attempt, or submits one when there is none or it has not succeeded."""
    timeout = ["--timeout", str(options.timeout)] if options.timeout else []
    if jobs and jobs[0]["status"] not in ("failed", "cancelled"):
        return anneal(options, "train", "jobs", "wait", jobs[0]["id"], *timeout, gate=True)
    arguments = ["run", options.spec, "--wait", "--set", f"/dataset/train={version['id']}",
                 "--idempotency-key", key(options, "train", str(len(jobs)))]
    for assignment in options.set:
        arguments += ["--set", assignment]
    arguments += ["--set", f"/metadata/run={json.dumps(options.run)}"]
    return anneal(options, "train", *arguments, *timeout, gate=True)


def evaluate(options, which, model, spec):
    """Evaluates a model on the rows and with the seed that champion and candidate share."""
    dataset = options.eval_dataset or spec["dataset"].get("eval")
    if not dataset:
        raise Stop("evaluate", 2, "the spec names no dataset.eval; name rows to evaluate on with --eval-dataset")
    verifier = options.verifier or spec["verifier"]
    if not isinstance(verifier, str):
        verifier = json.dumps(verifier)
    arguments = ["--model", model, "--dataset", dataset, "--verifier", verifier, "--samples", str(options.samples),
                 "--pass-at", "1", "--prompts", str(options.prompts), "--seed", str(options.seed)]
    timeout = ["--timeout", str(options.timeout)] if options.timeout else []
    return anneal(options, f"evaluate {which}", "evaluations", "create", *arguments, "--wait", *timeout,
                  "--idempotency-key", key(options, *arguments))


def compare(options, champion, candidate):
    """The verdict on the candidate with the interval of the difference, for these demands on it."""
    answer = anneal(options, "compare", "evaluations", "compare", "--baseline", champion["id"],
                    "--candidate", candidate["id"], "--confidence", str(options.confidence),
                    "--min-improvement", str(options.min_improvement), gate=True)
    low, high, differing = answer["low"], answer["high"], answer["differing"]
    # As the server does: where few prompts differ, the interval is too narrow.
    enough = 2 * 0.5 ** differing <= 1 - options.confidence
    if enough and low > options.min_improvement:
        verdict = "better"
    elif enough and high < options.min_improvement:
        verdict = "worse"
    else:
        verdict = "inconclusive"
    return verdict, {"mean": answer["difference"], "low": low, "high": high, "differing": differing}


def publish(options, record):
    """Downloads the model, checked, and then names it champion: in this order, so that the record never lies."""
    target = os.path.join(options.output, record["checkpoint"])
    anneal(options, "publish", "checkpoints", "download", record["checkpoint"], "--output", target)
    record["directory"] = target
    write_whole(options.champion, json.dumps(record, indent=2) + "\n")


def pass_at_1(evaluation):
    rows = (evaluation.get("result") or evaluation).get("pass_at") or []
    for row in rows:
        if isinstance(row, dict) and row.get("k") == 1:
            return row
    return {}


def retrain(options):
    """The whole run; returns what was decided and what it rests on."""
    record = read_json(options.champion) if os.path.exists(options.champion) else {}
    # When an earlier attempt of this run has published already, the model before it is still the one to beat.
    champion = record.get("previous") if record.get("run") == options.run else record.get("checkpoint")
    jobs = earlier(options)
    version = append(options, jobs)
    job = train(options, version, jobs)
    spec = job["spec_resolved"]
    checkpoint = (job.get("result") or {}).get("checkpoint")
    # Without a champion, it is the model that training began with.
    report = {"run": options.run, "job": job["id"], "dataset_version": version["id"], "rows": version.get("rows"),
              "candidate": checkpoint, "champion": champion or spec["model"], "first": champion is None}
    gate = (job.get("result") or {}).get("gate") or {}
    if gate.get("passed") is False:
        return dict(report, decision="worse", why="the job's own gate failed")
    if not checkpoint:
        raise Stop("train", 20, "the job ended without a checkpoint")
    old = evaluate(options, "champion", report["champion"], spec)
    new = evaluate(options, "candidate", checkpoint, spec)
    verdict, difference = compare(options, old, new)
    report.update(difference=difference, champion_evaluation=old["id"], candidate_evaluation=new["id"],
                  champion_pass=pass_at_1(old), candidate_pass=pass_at_1(new))
    why = (f"the gain in pass@1 lies between {difference['low']:+.4f} and {difference['high']:+.4f}, "
           f"with {difference['differing']} prompts that differ")
    if verdict == "better":
        publish(options, {"checkpoint": checkpoint, "weights_sha256": job["result"].get("weights_sha256"),
                          "job": job["id"], "run": options.run, "dataset_version": version["id"],
                          "evaluation": new["id"], "pass_at_1": report["candidate_pass"].get("mean"),
                          "previous": champion,
                          "published_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())})
        return dict(report, decision="published", why=why)
    if verdict == "worse":
        return dict(report, decision="worse", why=why)
    return dict(report, decision="inconclusive", why=f"{why}, which decides nothing; take more --prompts")


TITLES = {"published": "Published: the candidate is better", "worse": "Kept the champion: the candidate is not better",
          "inconclusive": "Inconclusive: the champion stays", "failed": "Failed"}


def markdown(report):
    """The summary for people."""
    def number(row):
        return f"{row['mean']:.4f}" if row and row.get("mean") is not None else "-"

    lines = [f"## {TITLES[report['decision']]}", "", report["why"], ""]
    if "difference" in report:
        difference = report["difference"]
        lines += ["| | model | pass@1 |", "|---|---|---|",
                  f"| champion | `{report['champion']}` | {number(report['champion_pass'])} |",
                  f"| candidate | `{report['candidate']}` | {number(report['candidate_pass'])} |", "",
                  f"Paired difference: {difference['mean']:+.4f}, between {difference['low']:+.4f} and "
                  f"{difference['high']:+.4f}.", ""]
    for name in ("job", "dataset_version", "rows", "run"):
        if report.get(name) is not None:
            lines.append(f"- {name.replace('_', ' ')}: `{report[name]}`")
    return "\n".join(lines) + "\n"


def junit(report, steps, code):
    """A test suite for CI systems that show those: a case for every step, and one for the decision."""
    def case(name, seconds, body):
        return f"    <testcase classname=\"retrain\" name={quoteattr(name)} time=\"{seconds:.3f}\">{body}</testcase>"

    failed = report.get("step")
    cases, failures, skipped = [], 0, 0
    for name, seconds in steps:
        body = ""
        if name == failed:
            failures, body = failures + 1, f"<failure message={quoteattr(report['why'])}/>"
        cases.append(case(name, seconds, body))
    if report["decision"] != "failed" or failed not in [name for name, _ in steps]:
        body = ""
        if code != OK:
            failures, body = failures + 1, f"<failure message={quoteattr(report['why'])}/>"
        elif report["decision"] != "published":
            skipped, body = skipped + 1, f"<skipped message={quoteattr(report['why'])}/>"
        cases.append(case(f"decision: {report['decision']}", 0, body))
    head = f"  <testsuite name=\"retrain\" tests=\"{len(cases)}\" failures=\"{failures}\" skipped=\"{skipped}\">"
    return "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', "<testsuites>", head, *cases, "  </testsuite>",
                      "</testsuites>", ""])


def exit_code(report, fail_on):
    if report["decision"] == "failed":
        return report["code"]
    if report["decision"] == "worse" and fail_on != "nothing":
        return GATE_FAILED
    if report["decision"] == "inconclusive" and fail_on == "inconclusive":
        return INCONCLUSIVE
    return OK


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spec", required=True, help="the job spec, a JSON file")
    parser.add_argument("--dataset", required=True, help="the data set to extend and to train on, ds_...")
    parser.add_argument("--rows", help="new rows as JSON Lines; without them the newest version is used as it is")
    parser.add_argument("--champion", default="champion.json", help="the record of the published model [%(default)s]")
    parser.add_argument("--output", default="models", help="the folder for published models [%(default)s]")
    parser.add_argument("--run", required=True, help="what names this run: the CI system's id of the pipeline")
    parser.add_argument("--set", action="append", default=[], metavar="POINTER=VALUE",
                        help="change the spec, as `anneal run --set` does; can be repeated")
    parser.add_argument("--eval-dataset", help="rows to evaluate on [the spec's dataset.eval]")
    parser.add_argument("--verifier", help="the verifier to evaluate with, vf_... or JSON [the spec's]")
    parser.add_argument("--prompts", type=int, default=500, help="rows to evaluate on [%(default)s]")
    parser.add_argument("--samples", type=int, default=8, help="completions per row [%(default)s]")
    parser.add_argument("--seed", type=int, default=1, help="of both evaluations [%(default)s]")
    parser.add_argument("--confidence", type=float, default=0.95, help="of the paired interval [%(default)s]")
    parser.add_argument("--min-improvement", type=float, default=0.0,
                        help="by how much pass@1 must be better, 0 to 1 [%(default)s]")
    parser.add_argument("--fail-on", choices=["nothing", "worse", "inconclusive"], default="worse",
                        help="from which answer on the exit code is not 0 [%(default)s]")
    parser.add_argument("--timeout", type=int, help="seconds to wait for the job, and for each evaluation")
    parser.add_argument("--summary", help="append a Markdown summary to this file, such as $GITHUB_STEP_SUMMARY")
    parser.add_argument("--junit", help="write a JUnit report into this file")
    parser.add_argument("--decision", help="write what was decided, as JSON, into this file")
    parser.add_argument("--anneal", default=os.environ.get("ANNEAL", "anneal"), help="the program [%(default)s]")
    return parser.parse_args()


def main():
    options = arguments()
    options.steps = []
    try:
        report = retrain(options)
    except Stop as stop:
        report = {"run": options.run, "decision": "failed", "why": str(stop), "step": stop.step, "code": stop.code}
    except (OSError, ValueError, KeyError) as error:
        detail = f"{type(error).__name__}: {error}"
        report = {"run": options.run, "decision": "failed", "why": detail, "step": "script", "code": 1}
    code = exit_code(report, options.fail_on)
    text = markdown(report)
    sys.stdout.write(text)
    if options.summary:
        with open(options.summary, "a", encoding="utf-8") as file:
            file.write(text)
    if options.junit:
        write_whole(options.junit, junit(report, options.steps, code))
    if options.decision:
        write_whole(options.decision, json.dumps(report, indent=2) + "\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
