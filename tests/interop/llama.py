"""llama.cpp reads what this repository takes for GGUF files of each family, and computes the values of golden.json.

    python llama.py FOLDER            # of NAME.gguf, each a model of tests/data/models

The files have numbers in F32 and no tokens; the cache is F32 too. Log-probabilities differ by 1e-4 at most, and greedy tokens
not at all.
"""

import ctypes
import json
import math
import sys
from pathlib import Path

import llama_cpp as api
import numpy as np

MODELS = Path(__file__).resolve().parents[1] / "data" / "models"
TOLERANCE = 1e-4
F32 = 0


class Model:
    def __init__(self, path, context):
        self.model = api.llama_model_load_from_file(str(path).encode(), api.llama_model_default_params())
        assert self.model, f"llama.cpp cannot load {path}"
        self.vocabulary = api.llama_vocab_n_tokens(api.llama_model_get_vocab(self.model))
        params = api.llama_context_default_params()
        params.n_ctx = params.n_batch = params.n_ubatch = context
        params.type_k = params.type_v = F32
        params.flash_attn_type = 0
        params.n_threads = params.n_threads_batch = 2
        self.context = api.llama_init_from_model(self.model, params)
        assert self.context, f"llama.cpp makes no context for {path}"

    def logits(self, tokens):
        """[len(tokens), vocabulary]"""
        api.llama_memory_clear(api.llama_get_memory(self.context), True)
        batch = api.llama_batch_init(len(tokens), 0, 1)
        batch.n_tokens = len(tokens)
        for at, token in enumerate(tokens):
            batch.token[at], batch.pos[at], batch.n_seq_id[at], batch.logits[at] = token, at, 1, True
            batch.seq_id[at][0] = 0
        assert api.llama_decode(self.context, batch) == 0
        rows = [np.ctypeslib.as_array(api.llama_get_logits_ith(self.context, at), (self.vocabulary,)).astype(np.float64) for at in range(len(tokens))]
        api.llama_batch_free(batch)
        return np.array(rows)


def logprobs(logits, tokens):
    shifted = logits - logits.max(axis=-1, keepdims=True)
    all_of = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return [float(all_of[at, token]) for at, token in enumerate(tokens[1:])]


def check(path):
    golden = json.loads((MODELS / path.stem / "golden.json").read_text())
    model = Model(path, 256)
    worst = 0.0
    for tokens, wanted in zip(golden["input_ids"], golden["token_logprobs"]):
        got = logprobs(model.logits(tokens), tokens)
        worst = max([worst] + [abs(a - b) for a, b in zip(got, wanted, strict=True)])
    assert not math.isnan(worst) and worst <= TOLERANCE, f"{path.stem}: log-probabilities differ by {worst}"
    prompt = golden.get("greedy_prompt_len", 0)
    for tokens, wanted in zip(golden["input_ids"], golden.get("greedy", [])):
        made = list(tokens[:prompt])
        rest = wanted[prompt:] if wanted[:prompt] == made else wanted
        for token in rest:
            best = int(model.logits(made)[-1].argmax())
            assert best == token, f"{path.stem}: token {len(made)} is {best} there and {token} here"
            made.append(best)
    print(f"{path.stem}: log-probabilities differ by {worst:.1e}", flush=True)


def main():
    silence = api.llama_log_callback(lambda *_: None)
    api.llama_log_set(silence, ctypes.c_void_p(None))
    api.llama_backend_init()
    paths = sorted(Path(sys.argv[1]).glob("*.gguf"))
    assert paths, "there is no file"
    for path in paths:
        check(path)
    print(f"interop: llama.cpp reads {len(paths)} models")


if __name__ == "__main__":
    main()
