"""Exports of a real model as llama.cpp reads them.

    python exports.py BASE FOLDER MODEL.gguf      # a server that may import FOLDER/MODEL.gguf

A job trains an adapter beside the model, and its checkpoint is exported as GGUF in every type. llama.cpp must load each file,
cut texts into the tokens of the exported tokenizer.json, and in F32 go on with the same tokens and log-probabilities as the
server does with the adapter beside the model. Files of fewer bits must have the types, tensor by tensor, that llama.cpp's own
quantisation of the F32 file has, and be about as near to that file.
"""

import ctypes
import json
import sys
from pathlib import Path

import llama_cpp as api
import numpy as np
from gguf import GGUFReader
from llama import Model, logprobs
from tokenizers import Tokenizer

from client import ended, export_of, request, trained_by

TEXTS = [
    "The quick brown fox jumps over the lazy dog. It's 12:30, and 1234567 of them don't care!",
    "def f(x):\n    return x ** 2  # squares\n\n\tprint(f(3.5))",
    "Was ist 17 * 23? Größe, naïve, 你好，世界。 Привет \U0001f600",
]
PROMPTS = ["The capital of France is", "1 + 1 =", "Once upon a time there was a"]
TOKENS = 16
TOLERANCE = 2e-3
# llama.cpp's numbers of file types.
QUANTISED = {"q8_0": 7, "q4_k_m": 15}


def tokens_of(model, text):
    vocabulary = api.llama_model_get_vocab(model.model)
    data, room = text.encode(), (api.llama_token * 4096)()
    count = api.llama_tokenize(vocabulary, data, len(data), room, 4096, False, True)
    return list(room[:count])


def types(path):
    return {tensor.name: tensor.tensor_type.name for tensor in GGUFReader(path).tensors}


def distances(path, texts, wanted):
    """Mean Kullback-Leibler divergence from the whole model, and the share of tokens whose best successor is the same."""
    model, divergence, same, count = Model(path, 256), 0.0, 0, 0
    for tokens, reference in zip(texts, wanted, strict=True):
        logits = model.logits(tokens)
        own = logits - np.log(np.exp(logits - logits.max(-1, keepdims=True)).sum(-1, keepdims=True)) - logits.max(-1, keepdims=True)
        divergence += float((np.exp(reference) * (reference - own)).sum())
        same += int((own.argmax(-1) == reference.argmax(-1)).sum())
        count += len(tokens)
    return divergence / count, same / count


def main():
    base, folder, source = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
    silence = api.llama_log_callback(lambda *_: None)
    api.llama_log_set(silence, ctypes.c_void_p(None))
    api.llama_backend_init()
    model = json.loads(request(f"{base}/v1/models", {"path": source}))["id"]
    assert ended(f"{base}/v1/models/{model}", ("ready", "failed"))["status"] == "ready"
    spec = {
        "model": model,
        "dataset": {"train": "builtin:arithmetic-slips"},
        "objective": {"type": "sft"},
        "adapter": {"type": "lora", "rank": 8},
        "train": {"steps": 3, "prompts_per_step": 8},
        "optimizer": {"learning_rate": 3e-3, "warmup": 0},
    }
    checkpoint, _ = trained_by(base, spec, folder / "adapter")
    files = {dtype: export_of(base, checkpoint, {"format": "gguf", "dtype": dtype}, folder / dtype) for dtype in ("f32", "f16", "bf16", "q8_0", "q4_k_m")}
    files = {dtype: next(path.rglob("*.gguf")) for dtype, path in files.items()}
    merged = export_of(base, checkpoint, {"format": "merged"}, folder / "merged")
    tokenizer = Tokenizer.from_file(str(next(merged.rglob("tokenizer.json"))))

    whole = Model(files["f32"], 256)
    for text in TEXTS:
        assert tokens_of(whole, text) == tokenizer.encode(text, add_special_tokens=False).ids, f"other tokens for {text!r}"
    worst = 0.0
    for prompt in PROMPTS:
        asked = {"model": checkpoint, "prompt": prompt, "temperature": 0, "max_tokens": TOKENS, "logprobs": 0}
        there = json.loads(request(f"{base}/v1/completions", asked))["choices"][0]
        made = tokens_of(whole, prompt)
        first = len(made)
        for logprob in there["logprobs"]["token_logprobs"]:
            row = whole.logits(made)[-1]
            made.append(int(row.argmax()))
            worst = max(worst, abs(logprobs(np.array([row, row]), [0, made[-1]])[0] - logprob))
        text = tokenizer.decode(made[first:])
        assert text == there["text"], f"{there['text']!r} here, {text!r} in llama.cpp"
    assert worst <= TOLERANCE, f"log-probabilities differ by {worst}"
    print(f"f32: the same tokens, log-probabilities differ by {worst:.1e}", flush=True)

    texts = [tokens_of(whole, text) for text in TEXTS + PROMPTS]
    wanted = [whole.logits(tokens) for tokens in texts]
    wanted = [row - row.max(-1, keepdims=True) - np.log(np.exp(row - row.max(-1, keepdims=True)).sum(-1, keepdims=True)) for row in wanted]
    for dtype in ("f16", "bf16"):
        divergence, same = distances(files[dtype], texts, wanted)
        assert divergence < 1e-3, f"{dtype}: {divergence}"
        print(f"{dtype}: divergence {divergence:.1e} a token, {same:.0%} the same best token", flush=True)
    for dtype, number in QUANTISED.items():
        params = api.llama_model_quantize_default_params()
        params.ftype, params.nthread = number, 2
        theirs = folder / f"theirs-{dtype}.gguf"
        assert api.llama_model_quantize(str(files["f32"]).encode(), str(theirs).encode(), ctypes.byref(params)) == 0
        ours, other = types(files[dtype]), types(theirs)
        differing = {name: (ours[name], other.get(name)) for name in ours if ours[name] != other.get(name)}
        assert not differing, f"{dtype}: {differing}"
        (own, own_same), (their, their_same) = distances(files[dtype], texts, wanted), distances(theirs, texts, wanted)
        print(f"{dtype}: divergence {own:.1e} a token here, {their:.1e} by llama.cpp; {own_same:.0%} and {their_same:.0%} the same best token", flush=True)
        assert own <= 1.5 * their + 1e-5, f"{dtype}: {own} here, {their} by llama.cpp"
    print("interop: llama.cpp reads exports in five types")


if __name__ == "__main__":
    main()
