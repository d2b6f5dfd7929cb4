#!/usr/bin/env python3
"""Measures how fast a model of a gigabyte comes to an agent, beside what the loopback carries, and how soon it is there again.

    python3 scripts/load_transfer.py

A server, an agent and a model made up for it, all on this machine. The bytes are counted by the server (`/metrics`), from the
first to the last; the second job finds the model among the agent's copies, and the time is from its start to its `loading`.

Needs target/release/anneal (or $ANNEAL_BIN).
"""

import array
import json
import os
import random
import shutil
import socket
import struct
import subprocess
import tempfile
import threading
import time
import urllib.request
from datetime import datetime
from pathlib import Path

LAYERS, HIDDEN, INNER = 16, 1024, 4096


def make_model(folder):
    """Weights of about a gigabyte, in f32."""
    assets = Path(__file__).parent.parent / "assets/arith-tiny"
    folder.mkdir()
    shutil.copy(assets / "tokenizer.json", folder)
    config = json.loads((assets / "config.json").read_text())
    config.update(hidden_size=HIDDEN, intermediate_size=INNER, num_hidden_layers=LAYERS, num_attention_heads=8,
                  num_key_value_heads=8, head_dim=128, torch_dtype="float32")
    (folder / "config.json").write_text(json.dumps(config))
    shapes = {"model.embed_tokens.weight": [config["vocab_size"], HIDDEN], "model.norm.weight": [HIDDEN]}
    for layer in range(LAYERS):
        name = f"model.layers.{layer}"
        shapes |= {f"{name}.self_attn.{part}_proj.weight": [HIDDEN, HIDDEN] for part in "qkvo"}
        shapes |= {f"{name}.mlp.{part}_proj.weight": [INNER, HIDDEN] for part in ("gate", "up")}
        shapes |= {f"{name}.mlp.down_proj.weight": [HIDDEN, INNER]}
        shapes |= {f"{name}.{part}_layernorm.weight": [HIDDEN] for part in ("input", "post_attention")}
    header, place = {}, 0
    for name, shape in sorted(shapes.items()):
        size = 4 * shape[0] * (shape[1] if len(shape) > 1 else 1)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [place, place + size]}
        place += size
    text = json.dumps(header).encode()
    block = array.array("f", (random.gauss(0, 0.02) for _ in range(1 << 18))).tobytes()
    with open(folder / "model.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for begin in range(0, place, len(block)):
            file.write(block[:place - begin])
    return place


def loopback(size):
    """Bytes a second from a file through a socket to nowhere."""
    listener = socket.create_server(("127.0.0.1", 0))
    with tempfile.NamedTemporaryFile() as file:
        file.truncate(size)

        def send():
            with listener.accept()[0] as connection:
                connection.sendfile(file)

        threading.Thread(target=send).start()
        began = time.monotonic()
        with socket.create_connection(listener.getsockname()) as connection:
            buffer = bytearray(1 << 20)
            while connection.recv_into(buffer):
                pass
        return size / (time.monotonic() - began)


class Server:
    def __init__(self, port):
        self.base = f"http://127.0.0.1:{port}"

    def ask(self, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data, {"content-type": "application/json"})
        with urllib.request.urlopen(request) as answer:
            return answer.read()

    def json(self, path, body=None):
        return json.loads(self.ask(path, body))

    def sent(self):
        lines = self.ask("/metrics").decode().splitlines()
        return next(float(line.split()[1]) for line in lines if line.startswith("anneal_agent_sent_bytes_total"))

    def load(self, model, watch=lambda: None):
        """Runs a job until it loads the model; returns the seconds that it took from its start."""
        spec = {"model": model, "dataset": {"train": "builtin:arithmetic"}, "objective": {"type": "sft"}, "train": {"steps": 1}}
        job = self.json("/v1/jobs", spec)["id"]
        while True:
            watch()
            events = self.json(f"/v1/jobs/{job}/events?limit=100")["data"]
            began = [event["created_at"] for event in events if event["data"].get("status") == "starting"]
            loads = [event["created_at"] for event in events if event["data"].get("phase") == "loading"]
            if loads:
                self.ask(f"/v1/jobs/{job}/cancel", {})
                while self.json(f"/v1/jobs/{job}")["status"] != "cancelled":
                    time.sleep(0.1)
                return (datetime.fromisoformat(loads[0]) - datetime.fromisoformat(began[0])).total_seconds()
            time.sleep(0.02)


def main():
    program = os.environ.get("ANNEAL_BIN", "target/release/anneal")
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        size = make_model(folder / "model")
        command = [program, "serve", "--supervised", "--listen", "127.0.0.1:0", "--devices", "none", "--log", "error",
                   "--import-roots", str(folder), "--data-dir", str(folder / "server")]
        processes = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)]
        try:
            port = int(processes[0].stdout.readline().split("http://")[1].split()[0].rsplit(":", 1)[1])
            server = Server(port)
            model = server.json("/v1/models", {"path": str(folder / "model"), "name": "large"})["id"]
            while server.json(f"/v1/models/{model}").get("status") == "importing":
                time.sleep(0.2)
            command = [program, "worker", "--server", server.base, "--host-name", "box", "--devices", "cpu", "--log", "error",
                       "--data-dir", str(folder / "agent")]
            processes.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
            processes[1].stdout.readline()
            plain = [loopback(size)]
            seen = []

            def watch():
                seen.append((time.monotonic(), server.sent()))

            server.load(model, watch)
            watch()
            plain.append(loopback(size))
            first = max(at for at, sent in seen if sent == seen[0][1])
            last = min(at for at, sent in seen if sent == seen[-1][1])
            rate, plain = (seen[-1][1] - seen[0][1]) / (last - first), sum(plain) / len(plain)
            print(f"{size / 1e9:.2f} GB to an agent: {rate / 1e6:.0f} MB/s; through a socket {plain / 1e6:.0f} MB/s; "
                  f"{100 * rate / plain:.0f} %")
            print(f"the second time: {server.load(model):.2f} s from the job's start to its loading")
        finally:
            for process in reversed(processes):
                process.terminate()
                process.wait(30)


if __name__ == "__main__":
    main()
