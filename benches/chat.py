#!/usr/bin/env python3
"""How soon the turns of a conversation begin that a client sends whole each time, as clients of `/v1/chat/completions` do.

chat.py MODEL.gguf [--anneal BIN] [--other BIN] [--turns N]

A server of each program answers the same conversation, greedily; what it is asked is a long text first and a short question each
turn. Seconds to the first token, by turns, and the answers, which must be the same."""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request

NOTES = " ".join(f"Note {n}: the shop in street {n * 7 % 31} opens at {n % 5 + 7} and sells {n * 13 % 97} kinds of tea." for n in range(24))
QUESTIONS = ["Which shops open at 7?", "And which at 8?", "Which sells the most kinds of tea?", "Say that in three words."]


def begin(program: str, gguf: str, folder: str) -> tuple[subprocess.Popen, str, str]:
    data = os.path.join(folder, "data")
    imported = subprocess.run(
        [program, "models", "import", "--data-dir", data, "--name", "chat", gguf], check=True, capture_output=True, text=True
    )
    server = subprocess.Popen(
        [program, "serve", "--listen", "127.0.0.1:0", "--devices", "cpu", "--log", "error", "--data-dir", data],
        stdout=subprocess.PIPE,
        text=True,
    )
    for line in server.stdout:
        if found := re.search(r"http://127\.0\.0\.1:\d+", line):
            return server, found.group(0), imported.stdout.split()[0]
    sys.exit(f"{program} does not start")


def ask(base: str, model: str, messages: list[dict]) -> tuple[float, str]:
    body = {"model": model, "messages": messages, "max_tokens": 24, "temperature": 0, "seed": 1, "stream": True}
    request = urllib.request.Request(
        f"{base}/v1/chat/completions", json.dumps(body).encode(), {"content-type": "application/json"}
    )
    began, first, text = time.monotonic(), None, ""
    with urllib.request.urlopen(request, timeout=600) as answer:
        for line in answer:
            if not line.startswith(b"data: {"):
                continue
            choices = json.loads(line[6:]).get("choices") or []
            piece = choices[0].get("delta", {}).get("content") if choices else None
            if piece:
                first = first or time.monotonic() - began
                text += piece
    return first or time.monotonic() - began, text


def conversation(program: str, gguf: str, turns: int) -> tuple[list[float], list[str]]:
    with tempfile.TemporaryDirectory() as folder:
        server, base, model = begin(program, gguf, folder)
        try:
            # The model is loaded.
            ask(base, model, [{"role": "user", "content": "Hello"}])
            messages, seconds, said = [], [], []
            for turn in range(turns):
                question = QUESTIONS[turn % len(QUESTIONS)]
                messages.append({"role": "user", "content": f"{NOTES}\n{question}" if turn == 0 else question})
                took, text = ask(base, model, messages)
                messages.append({"role": "assistant", "content": text})
                seconds.append(took)
                said.append(text)
            return seconds, said
        finally:
            server.terminate()
            server.wait(60)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("gguf", metavar="MODEL.gguf")
    arguments.add_argument("--anneal", default="target/release/anneal")
    arguments.add_argument("--other", help="a program to compare with")
    arguments.add_argument("--turns", type=int, default=4)
    options = arguments.parse_args()
    programs = [options.anneal, options.other] if options.other else [options.anneal]
    answers = []
    for program in programs:
        seconds, said = conversation(program, options.gguf, options.turns)
        answers.append(said)
        print(f"{program}: first tokens after " + ", ".join(f"{took:.2f}" for took in seconds) + " s")
    if any(said != answers[0] for said in answers):
        sys.exit("the programs do not answer the same")


if __name__ == "__main__":
    main()
