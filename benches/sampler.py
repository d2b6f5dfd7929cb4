"""What `sampling.weights` and `sampling.cache` gain and cost, against a server that is running (release build,
CPU, alone on the machine).

    python3 benches/sampler.py BASE speed MODEL    # tokens a second of rollout sets, with the model's loading
    python3 benches/sampler.py BASE cost           # pass@1 of the built-in model under grpo and p3o, four seeds each
"""

import json
import statistics
import sys
import urllib.request

NARROWED = ({}, {"weights": "bf16"}, {"weights": "int8"}, {"cache": "bf16"}, {"weights": "bf16", "cache": "bf16"})


def request(url, body=None):
    data = None if body is None else json.dumps(body).encode()
    call = urllib.request.Request(url, data=data, headers={"content-type": "application/json"})
    with urllib.request.urlopen(call, timeout=400) as answer:
        return json.loads(answer.read())


def told(narrowed):
    return ", ".join(f"{what} in {kind}" for what, kind in narrowed.items()) or "as trained"


def finished(base, job):
    while True:
        row = request(f"{base}/v1/jobs/{job}/wait?timeout=300")
        if row["status"] in ("succeeded", "failed", "cancelled"):
            assert row["status"] == "succeeded", row
            return row


def speed(base, model):
    for batch in (8, 32):
        for narrowed in NARROWED:
            sampling = {"max_new_tokens": 64, "batch_size": batch} | narrowed
            spec = {
                "model": model,
                "dataset": {"train": "builtin:arithmetic", "format": "text"},
                "prompts": batch,
                "group_size": 2,
                "seed": 1,
                "sampling": sampling,
            }
            made = request(f"{base}/v1/rollout-sets", spec)
            seconds = finished(base, made["job"])["device_seconds"]
            tokens = request(f"{base}/v1/rollout-sets/{made['id']}")["summary"]["tokens"]
            print(f"{batch} at once, {told(narrowed)}: {tokens / seconds:.0f} tokens/s", flush=True)


def cost(base):
    for objective in ("grpo", "p3o"):
        for narrowed in NARROWED:
            reached, distances, shares = [], [], []
            for seed in range(4):
                sampling = {"max_new_tokens": 6, "batch_size": 256} | narrowed
                spec = {
                    "model": "builtin:arith-tiny",
                    "dataset": {"train": "builtin:arithmetic", "eval": "builtin:arithmetic"},
                    "verifier": {"type": "numeric"},
                    "objective": {"type": objective, "group_size": 8},
                    "sampling": sampling,
                    "train": {"steps": 40, "prompts_per_step": 16},
                    "optimizer": {"learning_rate": 2e-4},
                    "eval": {"before": False, "prompts": 300, "samples": 4, "pass_at": [1]},
                    "seed": seed,
                }
                job = finished(base, request(f"{base}/v1/jobs", spec)["id"])
                series = request(f"{base}/v1/jobs/{job['id']}/metrics")["series"]
                of = {one["name"]: one["values"] for one in series}
                reached.append(job["result"]["after"]["pass_at"][0]["mean"])
                distances.append(statistics.mean(of["logprob/mean_abs_diff"]))
                shares.append(statistics.mean(of["ess/ratio"]))
            print(
                f"{objective}, {told(narrowed)}: pass@1 {statistics.mean(reached):.3f} +- "
                f"{statistics.stdev(reached):.3f}, distance {statistics.mean(distances):.1e} nats, "
                f"ESS {statistics.mean(shares):.5f}",
                flush=True,
            )


if __name__ == "__main__":
    base, what, *rest = sys.argv[1:]
    {"speed": speed, "cost": cost}[what](base, *rest)
