"""Adapters of every objective, in peft.

    objectives.py BASE FOLDER SOURCE

For each objective a short job trains an adapter beside the model in SOURCE, a folder of transformers or a GGUF file that
transformers reads. peft must load what it makes without a warning, and go on with the same tokens and log-probabilities (1e-4)
as the server does.
"""

import sys
from pathlib import Path

import torch
from tokenizers import Tokenizer
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer
from transformers.utils import logging

from check import adapted_by, compare, ends_of, tokenizer
from client import brought, trained_by

# Completions differ in whether they hold a letter of the first half, so that groups have something to learn from.
VERIFIER = {"type": "regex", "pattern": "[a-m0-4]"}
GROUP = {"group_size": 4}
OBJECTIVES = [
    {"type": "sft"},
    {"type": "grpo", **GROUP},
    {"type": "bolt", "rounds": 1, **GROUP},
    {"type": "p3o", **GROUP},
    {"type": "fade", **GROUP},
    {"type": "policy_gradient", "advantage": "rloo", **GROUP},
    # The teacher is the adapter that the first of them has made.
    {"type": "vopd", **GROUP},
]


def whole(source, folder):
    """The model in f32 and its tokenizer, saved where the server imports from."""
    if source.suffix == ".gguf":
        named = {"gguf_file": source.name}
        AutoTokenizer.from_pretrained(source.parent, **named).save_pretrained(folder)
        read = AutoModelForCausalLM.from_pretrained(source.parent, dtype=torch.float32, **named)
        # transformers does not save what it calls quantised, though it is f32 now.
        config = AutoConfig.from_pretrained(source.parent, **named)
        model = AutoModelForCausalLM.from_config(config, dtype=torch.float32).eval()
        model.load_state_dict(read.state_dict())
    else:
        model = AutoModelForCausalLM.from_pretrained(source, dtype=torch.float32).eval()
        folder.mkdir(parents=True)
        tokenizer(model.config.vocab_size).save(str(folder / "tokenizer.json"))
    model.save_pretrained(folder)
    return model, Tokenizer.from_file(str(folder / "tokenizer.json"))


def main():
    base, folder, source = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    logging.disable_progress_bar()
    model, own_tokenizer = whole(source, folder / "whole")
    imported, refusal = brought(base, folder / "whole")
    assert imported, refusal
    teacher = imported
    for objective in OBJECTIVES:
        kind = objective["type"]
        spec = {
            "model": imported,
            "dataset": {"train": "builtin:arithmetic-slips" if kind == "sft" else "builtin:arithmetic", "format": "text"},
            "objective": {"teacher": teacher, **objective} if kind == "vopd" else objective,
            "verifier": VERIFIER,
            "adapter": {"type": "lora", "rank": 4},
            "sampling": {"max_new_tokens": 6},
            "train": {"steps": 3, "prompts_per_step": 8},
            "optimizer": {"learning_rate": 0.01, "warmup": 0},
        }
        if kind == "sft":
            del spec["verifier"], spec["sampling"]
        checkpoint, made = trained_by(base, spec, folder / kind)
        made = next(made.rglob("adapter_config.json")).parent
        adapted = adapted_by(made, model, own_tokenizer, kind)
        distance = compare(base, checkpoint, adapted, own_tokenizer, ends_of(folder / "whole"), kind)
        adapted.unload()
        teacher = checkpoint if kind == "sft" else teacher
        print(f"{kind}: its adapter loads in peft, log-probabilities differ by {distance:.1e}", flush=True)
    print(f"interop: adapters of {len(OBJECTIVES)} objectives in peft")


if __name__ == "__main__":
    main()
