"""PyTorch and transformers on the shapes that `anneal bench` measures, with random weights: training tokens per second
with scaled-dot-product attention in eager mode, and greedy decoding with a cache. One line of JSON for each figure."""

import argparse
import json
import statistics
import time

import torch
import transformers

SHAPES = {
    "tiny": dict(vocab_size=512, hidden_size=256, intermediate_size=688, num_hidden_layers=4, num_attention_heads=4,
                 num_key_value_heads=4, head_dim=64, tie_word_embeddings=False),
    "qwen3-0.6b": dict(vocab_size=151936, hidden_size=1024, intermediate_size=3072, num_hidden_layers=28,
                       num_attention_heads=16, num_key_value_heads=8, head_dim=128, tie_word_embeddings=True),
    "qwen3-1.7b": dict(vocab_size=151936, hidden_size=2048, intermediate_size=6144, num_hidden_layers=28,
                       num_attention_heads=16, num_key_value_heads=8, head_dim=128, tie_word_embeddings=True),
}


def timed(device, work, repeats):
    """The median time of several runs after one that does not count, in seconds."""
    times = []
    for repeat in range(repeats + 1):
        if device != "cpu":
            torch.cuda.synchronize()
        began = time.perf_counter()
        work()
        if device != "cpu":
            torch.cuda.synchronize()
        if repeat > 0:
            times.append(time.perf_counter() - began)
    return statistics.median(times)


def tell(what, rate):
    """One figure."""
    print(json.dumps({"what": what, "tokens_per_second": rate, "version": torch.__version__}), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", choices=SHAPES, required=True)
    parser.add_argument("--batch", default="1,32,256")
    parser.add_argument("--device", default="cuda:0")
    args = parser.parse_args()
    small = args.device == "cpu"
    torch.manual_seed(0)
    config = transformers.LlamaConfig(**SHAPES[args.model], max_position_embeddings=4096, attn_implementation="sdpa")
    with torch.device(args.device):
        model = transformers.LlamaForCausalLM(config).to(torch.bfloat16)
    # AdamW with f32 masters would need autocast; plain bf16 weights are the faster way that people use.
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-9, fused=not small)
    count, length, chunk = (4, 32, 4) if small else (16, 1024, 4)
    tokens = torch.randint(0, config.vocab_size, (count, length), device=args.device)

    def step():
        optimizer.zero_grad(set_to_none=True)
        for part in tokens.split(chunk):
            (model(input_ids=part, labels=part).loss * len(part) / count).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    tell("training", count * length / timed(args.device, step, 3))
    del optimizer
    model.eval()
    prompt, new = (8, 6) if small else (256, 64)
    for batch in map(int, args.batch.split(",")):
        inputs = torch.randint(0, config.vocab_size, (batch, prompt), device=args.device)
        options = dict(do_sample=False, pad_token_id=0, eos_token_id=None)

        def generate(count):
            with torch.inference_mode():
                model.generate(inputs, max_new_tokens=count, min_new_tokens=count, **options)

        first = timed(args.device, lambda: generate(1), 2)
        whole = timed(args.device, lambda: generate(new), 2)
        tell(f"prefill, batch {batch}", batch * prompt / first)
        tell(f"decode, batch {batch}", batch * (new - 1) / max(whole - first, 1e-9))


if __name__ == "__main__":
    main()
