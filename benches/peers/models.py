"""The model shapes of the comparison, as transformers' models with random weights.

`tiny` is Anneal's built-in shape (3.4 M parameters), `smollm2-135m` that of SmolLM2-135M (134.5 M), `qwen3-0.6b` that of
Qwen3-0.6B (596 M). Speed does not
depend on the values of the weights, so nothing is loaded. No token ends a sequence: every generation runs to the
length that was asked for.
"""

import torch
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedModel, Qwen3Config, Qwen3ForCausalLM

SHAPES: dict[str, dict[str, object]] = {
    "tiny": {
        "hidden_size": 256,
        "num_hidden_layers": 4,
        "num_attention_heads": 4,
        "num_key_value_heads": 4,
        "head_dim": 64,
        "intermediate_size": 688,
        "vocab_size": 512,
        "tie_word_embeddings": False,
        "max_position_embeddings": 1024,
        "rope_parameters": {"rope_type": "default", "rope_theta": 10_000.0},
    },
    "smollm2-135m": {
        "hidden_size": 576,
        "num_hidden_layers": 30,
        "num_attention_heads": 9,
        "num_key_value_heads": 3,
        "head_dim": 64,
        "intermediate_size": 1536,
        "vocab_size": 49_152,
        "tie_word_embeddings": True,
        "max_position_embeddings": 8192,
        "rope_parameters": {"rope_type": "default", "rope_theta": 100_000.0},
    },
    "qwen3-0.6b": {
        "hidden_size": 1024,
        "num_hidden_layers": 28,
        "num_attention_heads": 16,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "intermediate_size": 3072,
        "vocab_size": 151_936,
        "tie_word_embeddings": True,
        "max_position_embeddings": 40_960,
        "rope_parameters": {"rope_type": "default", "rope_theta": 1_000_000.0},
    },
}
MODELS = tuple(SHAPES)

# Ids that the tokenizer of trl_grpo.py gives to its special tokens. Random prompts leave them out.
PAD_TOKEN_ID = 0
FIRST_PLAIN_TOKEN_ID = 4

ATTENTIONS = ("sdpa", "eager")


def build(model: str, dtype: torch.dtype = torch.float32, attention: str = "sdpa", seed: int = 0) -> PreTrainedModel:
    """The model of a shape with random weights of type `dtype`."""
    torch.manual_seed(seed)
    qwen3 = model.startswith("qwen3")
    config = (Qwen3Config if qwen3 else LlamaConfig)(
        **SHAPES[model],
        attn_implementation=attention,
        bos_token_id=None,
        eos_token_id=None,
        pad_token_id=PAD_TOKEN_ID,
    )
    return (Qwen3ForCausalLM if qwen3 else LlamaForCausalLM)(config).to(dtype)


def weights_dtype(dtype: str, lora: int | None) -> torch.dtype:
    """What weights are held in: a model that is frozen beside an adapter is in bf16 where products are."""
    narrow = dtype == "bf16" or (lora is not None and dtype == "bf16-autocast")
    return torch.bfloat16 if narrow else torch.float32


def adapter(rank: int):
    """peft's configuration of an adapter of this rank on all linear layers."""
    import peft

    return peft.LoraConfig(r=rank, lora_alpha=rank, target_modules="all-linear", task_type="CAUSAL_LM")


def random_tokens(model: str, sequences: int, length: int, seed: int = 0) -> torch.Tensor:
    """Random plain tokens, `sequences` rows of `length`."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(FIRST_PLAIN_TOKEN_ID, SHAPES[model]["vocab_size"], (sequences, length), generator=generator)


def parameters(model: PreTrainedModel) -> int:
    """Number of distinct parameters: a tied head counts once."""
    return sum(parameter.numel() for parameter in model.parameters())
