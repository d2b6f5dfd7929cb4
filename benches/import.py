"""How long a model takes into the data directory and into a job, beside `cp`.

A model of the family Qwen 3 with 1 GB of random weights in BF16 is copied and imported in turn, both until all of it is on the
disk, and then evaluated by a job, whose events say how long it loaded. Needs nothing but Python.

    python3 benches/import.py --anneal target/release/anneal
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time
import urllib.request
from datetime import datetime
from pathlib import Path

ASSETS = Path(__file__).resolve().parent.parent / "assets" / "arith-tiny"
HIDDEN, INNER, LAYERS, HEADS, WIDTH = 1024, 3072, 32, 16, 64


def tensors(vocabulary):
    yield "model.embed_tokens.weight", [vocabulary, HIDDEN]
    for layer in range(LAYERS):
        name = f"model.layers.{layer}."
        for part, rows, columns in [
            ("self_attn.q_proj", HEADS * WIDTH, HIDDEN),
            ("self_attn.k_proj", HEADS * WIDTH, HIDDEN),
            ("self_attn.v_proj", HEADS * WIDTH, HIDDEN),
            ("self_attn.o_proj", HIDDEN, HEADS * WIDTH),
            ("mlp.gate_proj", INNER, HIDDEN),
            ("mlp.up_proj", INNER, HIDDEN),
            ("mlp.down_proj", HIDDEN, INNER),
        ]:
            yield f"{name}{part}.weight", [rows, columns]
        for part, size in [
            ("self_attn.q_norm", WIDTH),
            ("self_attn.k_norm", WIDTH),
            ("input_layernorm", HIDDEN),
            ("post_attention_layernorm", HIDDEN),
        ]:
            yield f"{name}{part}.weight", [size]
    yield "model.norm.weight", [HIDDEN]


def write_model(folder):
    """A model of a bit more than 1 GB; its bytes are random, its numbers small."""
    folder.mkdir()
    shutil.copy(ASSETS / "tokenizer.json", folder)
    config = json.loads((ASSETS / "config.json").read_text())
    config.update(
        model_type="qwen3",
        architectures=["Qwen3ForCausalLM"],
        hidden_size=HIDDEN,
        intermediate_size=INNER,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        num_key_value_heads=HEADS,
        head_dim=WIDTH,
    )
    config.pop("mlp_bias", None)
    (folder / "config.json").write_text(json.dumps(config))
    header, end = {}, 0
    for name, shape in tensors(config["vocab_size"]):
        size = 2
        for length in shape:
            size *= length
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [end, end + size]}
        end += size
    text = json.dumps(header).encode()
    # An exponent of about 2^-6 for every number, and the rest at random.
    piece = bytearray(os.urandom(1 << 20))
    piece[1::2] = bytes(0x3C | (byte & 0x80) for byte in piece[1::2])
    with open(folder / "model.safetensors", "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        left = end
        while left:
            left -= file.write(piece[: min(left, len(piece))])
    return end


def timed(command, **more):
    began = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **more)
    return time.perf_counter() - began


def copy(source, target):
    took = timed(["sh", "-c", f"cp -r '{source}' '{target}' && sync -f '{target}'"])
    shutil.rmtree(target)
    return took


def post(base, path, body):
    request = urllib.request.Request(base + path, json.dumps(body).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def get(base, path):
    with urllib.request.urlopen(base + path) as answer:
        return json.load(answer)


def loading(base, model):
    """Seconds that a job that evaluates the model loads."""
    spec = {
        "model": model,
        "dataset": "builtin:arithmetic",
        "verifier": {"type": "numeric"},
        "prompts": 1,
        "samples": 1,
        "sampling": {"max_new_tokens": 1},
    }
    job = post(base, "/v1/evaluations", spec)["job"]
    get(base, f"/v1/jobs/{job}/wait?timeout=300")
    events = get(base, f"/v1/jobs/{job}/events?limit=100")["data"]
    at = lambda event: datetime.fromisoformat(event["created_at"].replace("Z", "+00:00")).timestamp()
    phases = [(event["data"]["phase"], at(event)) for event in events if event["type"] == "phase"]
    begin = next(time for phase, time in phases if phase == "loading")
    return next(time for phase, time in phases if time >= begin and phase != "loading") - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--anneal", default="target/release/anneal")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", help="where to write some 3 GB [default: the system's folder for such files]")
    arguments = parser.parse_args()
    anneal = os.path.abspath(arguments.anneal)
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        folder = Path(folder)
        size = write_model(folder / "model")
        data = ["--data-dir", str(folder / "data")]
        copies, imports = [], []
        for _ in range(arguments.rounds):
            copies.append(copy(folder / "model", folder / "copy"))
            imports.append(timed([anneal, "models", "import", str(folder / "model"), *data]))
            shutil.rmtree(folder / "data")
        subprocess.run([anneal, "models", "import", str(folder / "model"), "--name", "m", *data], check=True, capture_output=True)
        command = [anneal, "serve", "--supervised", "--listen", "127.0.0.1:0", "--log", "error", *data]
        server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            base = next(word for word in server.stdout.readline().split() if word.startswith("http://"))
            loads = [loading(base, "m") for _ in range(arguments.rounds)]
        finally:
            server.stdin.close()
            server.wait()
    speed = lambda seconds: f"{size / seconds / 1e6:6.0f} MB/s"
    print(f"{size / 1e9:.2f} GB; medians of {arguments.rounds}, in turn")
    print(f"cp and sync      {statistics.median(copies):6.2f} s {speed(statistics.median(copies))}")
    print(f"anneal import    {statistics.median(imports):6.2f} s {speed(statistics.median(imports))}", end="")
    ratios = [copy / own for copy, own in zip(copies, imports)]
    print(f"  {100 * statistics.median(ratios):.0f} % of cp's speed (worst {100 * min(ratios):.0f} %)")
    print(f"load for a job   {statistics.median(loads):6.2f} s (first {loads[0]:.2f} s)")


if __name__ == "__main__":
    main()
