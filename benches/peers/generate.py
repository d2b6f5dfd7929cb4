"""Measures sampling with transformers' `generate`: prefill and decode speed of a batch of random prompts.

    python generate.py --model smollm2-135m --batch 32 --dtype bf16

Plain sampling, at temperature 1 from the whole vocabulary, with the key-value cache. A generation of one token is the
prefill (with everything `generate` does once a call); what a full generation takes beyond it is the decoding of the
remaining `new-tokens - 1`.
"""

import argparse

import common


def arguments() -> argparse.Namespace:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--dtype", choices=("f32", "bf16"), required=True)
    parser.add_argument("--prompt-tokens", type=int, default=64)
    parser.add_argument("--new-tokens", type=int, default=64, help="tokens of each completion, 2 or more (default: 64)")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--attention", choices=("sdpa", "eager"), default="sdpa")
    common.add_threads_argument(parser)
    args = parser.parse_args()
    if args.new_tokens < 2:
        parser.error("--new-tokens must be 2 or more: the first token belongs to the prefill")
    return args


def main() -> None:
    """Runs the generations and prints the result."""
    args = arguments()
    common.limit_threads(args.threads)

    import models
    import torch

    torch.set_num_threads(args.threads)
    model = models.build(args.model, torch.bfloat16 if args.dtype == "bf16" else torch.float32, args.attention).eval()
    prompts = models.random_tokens(args.model, args.batch, args.prompt_tokens)
    mask = torch.ones_like(prompts)

    def generate(new_tokens: int) -> None:
        completed = model.generate(
            prompts,
            attention_mask=mask,
            do_sample=True,
            temperature=1.0,
            top_k=0,
            max_new_tokens=new_tokens,
        )
        expected = (args.batch, args.prompt_tokens + new_tokens)
        if completed.shape != expected:
            raise RuntimeError(f"generate returned {tuple(completed.shape)} instead of {expected}")

    generate(2)
    prefill_seconds = common.median([common.seconds_of(lambda: generate(1)) for _ in range(args.repetitions)])
    seconds = common.median([common.seconds_of(lambda: generate(args.new_tokens)) for _ in range(args.repetitions)])
    common.emit(
        peer="transformers",
        what="sample",
        model=args.model,
        parameters=models.parameters(model),
        dtype=args.dtype,
        batch=args.batch,
        prompt_tokens=args.prompt_tokens,
        new_tokens=args.new_tokens,
        attention=args.attention,
        threads=args.threads,
        seconds=seconds,
        prefill_seconds=prefill_seconds,
        decode_tokens_per_second=args.batch * (args.new_tokens - 1) / (seconds - prefill_seconds),
        prefill_tokens_per_second=args.batch * args.prompt_tokens / prefill_seconds,
        peak_memory_bytes=common.peak_memory_bytes(),
        versions=common.versions("torch", "transformers"),
    )


if __name__ == "__main__":
    main()
