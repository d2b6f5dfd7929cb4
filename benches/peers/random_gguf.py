"""Writes a GGUF file with the shape of Qwen3-0.6B, random weights in BF16 and no tokens, for llama_cpp_bench.py.

    python random_gguf.py models/qwen3-0.6b-bf16.gguf
"""

import sys

import gguf
import numpy as np

from models import SHAPES

SHAPE = SHAPES["qwen3-0.6b"]


def matrices():
    """Names, rows and columns."""
    hidden, width = SHAPE["hidden_size"], SHAPE["head_dim"]
    queries, keys = SHAPE["num_attention_heads"] * width, SHAPE["num_key_value_heads"] * width
    yield "token_embd", SHAPE["vocab_size"], hidden
    for layer in range(SHAPE["num_hidden_layers"]):
        for name, rows, columns in [
            ("attn_q", queries, hidden),
            ("attn_k", keys, hidden),
            ("attn_v", keys, hidden),
            ("attn_output", hidden, queries),
            ("ffn_gate", SHAPE["intermediate_size"], hidden),
            ("ffn_up", SHAPE["intermediate_size"], hidden),
            ("ffn_down", hidden, SHAPE["intermediate_size"]),
        ]:
            yield f"blk.{layer}.{name}", rows, columns


def norms():
    """Names and widths."""
    yield "output_norm", SHAPE["hidden_size"]
    for layer in range(SHAPE["num_hidden_layers"]):
        for name in ("attn_norm", "ffn_norm"):
            yield f"blk.{layer}.{name}", SHAPE["hidden_size"]
        for name in ("attn_q_norm", "attn_k_norm"):
            yield f"blk.{layer}.{name}", SHAPE["head_dim"]


def main() -> None:
    """Command line."""
    writer = gguf.GGUFWriter(sys.argv[1], "qwen3")
    writer.add_context_length(SHAPE["max_position_embeddings"])
    writer.add_embedding_length(SHAPE["hidden_size"])
    writer.add_block_count(SHAPE["num_hidden_layers"])
    writer.add_feed_forward_length(SHAPE["intermediate_size"])
    writer.add_head_count(SHAPE["num_attention_heads"])
    writer.add_head_count_kv(SHAPE["num_key_value_heads"])
    writer.add_key_length(SHAPE["head_dim"])
    writer.add_value_length(SHAPE["head_dim"])
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_freq_base(1e6)
    writer.add_vocab_size(SHAPE["vocab_size"])
    writer.add_tokenizer_model("no_vocab")
    random = np.random.default_rng(0)
    for name, rows, columns in matrices():
        values = random.standard_normal((rows, columns), dtype=np.float32) * 0.02
        numbers = gguf.quants.quantize(values, gguf.GGMLQuantizationType.BF16)
        writer.add_tensor(f"{name}.weight", numbers, raw_dtype=gguf.GGMLQuantizationType.BF16)
    for name, width in norms():
        writer.add_tensor(f"{name}.weight", np.ones(width, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main()
