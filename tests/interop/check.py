"""Models and adapters on their way from transformers and peft to Anneal and back.

For each family: the model of tests/data/models is saved by transformers, imported, and must go on with the same tokens and
the same log-probabilities (1e-4) as transformers. Then a job trains it, and the finished model must go on in transformers
as it does here. Adapters that peft saves beside the model must compute here as in peft, or be refused by the name of what is
not computed here. Then another job trains an adapter beside it, which peft must load without a warning and go on with as
here, beside the model and merged into it; and as the server exports it merged, for transformers alone.
"""

import json
import sys
import warnings
from pathlib import Path

import torch
from peft import IA3Config, LoraConfig, PeftModel, get_peft_model
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import AutoModelForCausalLM
from transformers.utils import logging

from client import brought, export_of, request, trained_by

FAMILIES = Path(__file__).resolve().parents[1] / "data" / "models"
# Families whose adapters train the lengths of rows too; the first has biases.
WITH_LENGTHS = ("tiny-qwen2", "tiny-gemma3")
ATTENTION = ["q_proj", "k_proj", "v_proj", "o_proj"]
# Adapters of peft that load here, and what the factors are kept in.
LOADED = [
    ({"target_modules": ["o_proj", "query_key_value"], "lora_alpha": 6}, torch.bfloat16),
    ({"target_modules": "all-linear", "use_rslora": True, "init_lora_weights": "gaussian"}, torch.float32),
    ({"target_modules": r".*\.layers\.0\.self_attn\..*_proj", "use_dora": True, "lora_dropout": 0.1}, torch.float32),
    ({"target_modules": ["o_proj"], "exclude_modules": ["0.self_attn.o_proj"], "layers_to_transform": [0, 1]}, torch.float32),
]
# What makes an adapter one that is refused, by the member of its configuration that says so.
REFUSED = {
    "rank_pattern": {"rank_pattern": {"o_proj": 2}},
    "alpha_pattern": {"alpha_pattern": {"o_proj": 2}},
    "bias": {"bias": "lora_only"},
    "lora_bias": {"lora_bias": True},
    "modules_to_save": {"modules_to_save": ["norm"]},
    "trainable_token_indices": {"trainable_token_indices": [1]},
    "target_parameters": {"target_parameters": ["self_attn.o_proj.weight"], "target_modules": []},
    "layer_replication": {"layer_replication": [[0, 1], [0, 1]]},
    "alora_invocation_tokens": {"alora_invocation_tokens": [5, 6]},
    "init_lora_weights": {"init_lora_weights": "pissa"},
}
PROMPTS = ["12+7=", "a longer text, to go on with (x*y)?", "0"]
TOKENS = 24
TOLERANCE = 1e-4


def tokenizer(size):
    """A character a token, as many as the model has rows for."""
    vocab = {"<unk>": 0, "<bos>": 1, "<eos>": 2}
    vocab |= {chr(32 + place): 3 + place for place in range(size - 3)}
    made = Tokenizer(models.WordLevel(vocab, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
    made.decoder = decoders.Fuse()
    return made


def continued(model, tokens, ends):
    """Greedy tokens and their log-probabilities, until one ends the text."""
    tokens, logprobs = list(tokens), []
    made = []
    with torch.no_grad():
        for _ in range(TOKENS):
            row = model(torch.tensor([tokens])).logits[0, -1].double().log_softmax(-1)
            best = int(row.argmax())
            if best in ends:
                break
            made.append(best)
            tokens.append(best)
            logprobs.append(float(row[best]))
    return made, logprobs


def prompts_for(config):
    """transformers chooses the rotations of longrope anew by the length of each sequence, Anneal once by the longest that
    there may be: sequences that pass the trained context are rotated alike."""
    trained = getattr(config, "original_max_position_embeddings", None)
    # The class of Phi 3 has one in any case, and it means nothing beyond what the model can take.
    if trained is None or trained >= config.max_position_embeddings:
        return PROMPTS
    return [(prompt * trained)[: trained + 1 + place] for place, prompt in enumerate(PROMPTS)]


def compare(base, name, model, own_tokenizer, ends, what):
    distances = []
    for prompt in prompts_for(model.config):
        asked = {"model": name, "prompt": prompt, "temperature": 0, "max_tokens": TOKENS, "logprobs": 0}
        choice = json.loads(request(f"{base}/v1/completions", asked))["choices"][0]
        made, logprobs = continued(model, own_tokenizer.encode(prompt).ids, ends)
        got = choice["logprobs"]["token_logprobs"]
        text = own_tokenizer.decode(made, skip_special_tokens=True)
        assert choice["text"] == text, f"{what}: {choice['text']!r} here, {text!r} in transformers"
        assert len(got) == len(logprobs), f"{what}: {len(got)} tokens here, {len(logprobs)} in transformers"
        distances += [abs(a - b) for a, b in zip(got, logprobs)]
    assert distances, f"{what}: no prompt is gone on with"
    assert max(distances) <= TOLERANCE, f"{what}: log-probabilities differ by {max(distances)}"
    return max(distances)


def ends_of(folder):
    found = set()
    for name in ("config.json", "generation_config.json"):
        if (folder / name).is_file():
            value = json.loads((folder / name).read_text()).get("eos_token_id")
            found |= set(value if isinstance(value, list) else [] if value is None else [value])
    return found


def adapted_by(folder, model, own_tokenizer, what):
    """The model with an adapter that peft loads without a warning, and which changes what the model says."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        warnings.simplefilter("error", UserWarning)
        adapted = PeftModel.from_pretrained(model, folder).eval()
    tokens = torch.tensor([own_tokenizer.encode(PROMPTS[1]).ids])
    with torch.no_grad(), adapted.disable_adapter():
        without = adapted(tokens).logits
    with torch.no_grad():
        moved = float((adapted(tokens).logits - without).abs().max())
    assert moved > 1e-2, f"{what}: the adapter changes logits by {moved} only"
    return adapted


def saved_by_peft(folder, config, beside, dtype=torch.float32, **saving):
    """An adapter with random factors, as peft saves it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = AutoModelForCausalLM.from_pretrained(beside, dtype=dtype)
        model = get_peft_model(model, config, autocast_adapter_dtype=False)
        torch.manual_seed(20)
        for name, factor in model.named_parameters():
            if "lora_magnitude_vector" in name:
                factor.data *= 0.5 + torch.rand_like(factor)
            elif "lora_" in name:
                torch.nn.init.normal_(factor, std=0.1)
        model.save_pretrained(folder, **saving)
    return folder


def check_adapters_of_peft(base, roots, family, model, has_experts, own_tokenizer):
    beside, worst = roots / family, 0.0
    for number, (changes, dtype) in enumerate(LOADED):
        if has_experts and changes["target_modules"] == "all-linear":
            changes = changes | {"target_modules": ATTENTION}
        what = f"{family}, adapter of peft with {changes}"
        config = LoraConfig(task_type="CAUSAL_LM", r=4, **changes)
        folder = saved_by_peft(roots / f"{family}-peft-{number}", config, beside, dtype)
        adapter, refusal = brought(base, folder, model)
        assert adapter, f"{what}: {refusal}"
        adapted = AutoModelForCausalLM.from_pretrained(beside, dtype=torch.float32)
        adapted = adapted_by(folder, adapted, own_tokenizer, what)
        worst = max(worst, compare(base, adapter, adapted, own_tokenizer, ends_of(beside), what))
    plain = {"task_type": "CAUSAL_LM", "target_modules": ["o_proj"]}
    refused = [("config_invalid", f"`{name}`", LoraConfig(**plain | changes), {}) for name, changes in REFUSED.items()]
    refused += [
        ("config_invalid", "`peft_type`", IA3Config(**plain, feedforward_modules=[]), {}),
        ("adapter_mismatch", "`embed_tokens`", LoraConfig(**plain | {"target_modules": ["embed_tokens", "o_proj"]}), {}),
        ("adapter_mismatch", "belongs to no weight", LoraConfig(**plain), {"save_embedding_layers": True}),
    ]
    for number, (code, why, config, saving) in enumerate(refused):
        folder = saved_by_peft(roots / f"{family}-refused-{number}", config, beside, **saving)
        adapter, refusal = brought(base, folder, model)
        assert adapter is None, f"{family}: an adapter of peft is taken, and {why} should refuse it"
        assert refusal["code"] == code and why in refusal["detail"], f"{family}, {why}: {refusal}"
    return worst


def check(base, roots, family):
    source, folder = FAMILIES / family, roots / family
    model = AutoModelForCausalLM.from_pretrained(source, dtype=torch.float32).eval()
    model.save_pretrained(folder)
    own_tokenizer = tokenizer(model.config.vocab_size)
    own_tokenizer.save(str(folder / "tokenizer.json"))
    imported, refusal = brought(base, folder)
    assert imported, f"{family}: {refusal}"
    there = compare(base, imported, model, own_tokenizer, ends_of(folder), f"{family}, imported")
    # transformers keeps the experts of a layer as one tensor, beside which peft has no factors for single ones.
    has_experts = any("experts" in name for name, _ in model.named_parameters())
    of_peft = check_adapters_of_peft(base, roots, family, imported, has_experts, own_tokenizer)

    spec = {
        "model": imported,
        "dataset": {"train": "builtin:arithmetic-slips", "format": "text"},
        "objective": {"type": "sft"},
        "train": {"steps": 3, "prompts_per_step": 8},
        "optimizer": {"learning_rate": 1e-3},
    }
    checkpoint, back = trained_by(base, spec, roots / f"{family}-trained")
    config = next(back.rglob("config.json")).parent
    trained, report = AutoModelForCausalLM.from_pretrained(config, dtype=torch.float32, output_loading_info=True)
    # transformers names buffers that it makes by itself among the missing ones.
    lost = {kind: names for kind, names in report.items() if kind in ("missing_keys", "unexpected_keys", "mismatched_keys") and names}
    assert not lost, f"{family}: {lost}"
    back = compare(base, checkpoint, trained.eval(), own_tokenizer, ends_of(config), f"{family}, trained")

    targets = ATTENTION if has_experts else "all_linear"
    spec["adapter"] = {"type": "lora", "rank": 4, "targets": targets, "rslora": True, "dora": family in WITH_LENGTHS}
    spec["optimizer"] = {"learning_rate": 0.01, "warmup": 0}
    checkpoint, folder = trained_by(base, spec, roots / f"{family}-adapter")
    folder = next(folder.rglob("adapter_config.json")).parent
    adapted = adapted_by(folder, model, own_tokenizer, f"{family}, adapter")
    beside = compare(base, checkpoint, adapted, own_tokenizer, ends_of(roots / family), f"{family}, adapter")
    merged = adapted.merge_and_unload()
    merged = compare(base, checkpoint, merged, own_tokenizer, ends_of(roots / family), f"{family}, merged adapter")
    # The server merges as well, and transformers alone reads that.
    folder = export_of(base, checkpoint, {"format": "merged", "dtype": "f32"}, roots / f"{family}-merged")
    config = next(folder.rglob("config.json")).parent
    exported = AutoModelForCausalLM.from_pretrained(config, dtype=torch.float32).eval()
    exported = compare(base, checkpoint, exported, own_tokenizer, ends_of(config), f"{family}, exported")
    print(
        f"{family}: log-probabilities differ by {there:.1e} as imported, by {of_peft:.1e} with adapters of peft, by {back:.1e} "
        f"when trained, by {beside:.1e} with an adapter, by {merged:.1e} with it merged, by {exported:.1e} as exported",
        flush=True,
    )


def main():
    base, roots, *families = sys.argv[1:]
    logging.disable_progress_bar()
    # Threads that wait for each other are most of the time of models this small.
    torch.set_num_threads(1)
    families = families or sorted(path.name for path in FAMILIES.iterdir() if (path / "config.json").is_file())
    for family in families:
        check(base, Path(roots), family)
    print(f"interop: {len(families)} models there and back")


if __name__ == "__main__":
    main()
