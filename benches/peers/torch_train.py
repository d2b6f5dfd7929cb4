"""Measures a full training step in PyTorch: forward, backward, AdamW with all its state, on random tokens.

    python torch_train.py --model smollm2-135m --sequences 8 --length 128 --dtype bf16-autocast

`f32` computes everything in f32. `bf16-autocast` keeps f32 weights, gradients and moments and computes the matrix
products in bf16, which is what Anneal's bf16 compute does. `bf16` holds weights, gradients and moments in bf16: faster
and smaller, but it loses small updates, so it is no like-for-like peer and is measured only to be named beside them.

With `--lora` peft trains an adapter on all linear layers, and the model is frozen: in f32, or with `bf16-autocast` in bf16
beside f32 factors, as Anneal keeps them.

The loss is next-token cross entropy over f32 logits. Of AdamW's implementations `--optimizer` picks one; fused is the
fastest on a CPU.
"""

import argparse
import contextlib

import common

DTYPES = ("f32", "bf16-autocast", "bf16")
OPTIMIZERS = ("fused", "foreach", "forloop")


def arguments() -> argparse.Namespace:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True)
    parser.add_argument("--sequences", type=int, required=True)
    parser.add_argument("--length", type=int, required=True, help="tokens in each sequence")
    parser.add_argument("--dtype", choices=DTYPES, required=True)
    parser.add_argument("--steps", type=int, default=5, help="measured steps (default: 5)")
    parser.add_argument("--warm-up", type=int, default=2, help="steps before the measured ones (default: 2)")
    parser.add_argument("--attention", choices=("sdpa", "eager"), default="sdpa")
    parser.add_argument("--optimizer", choices=OPTIMIZERS, default="fused")
    parser.add_argument("--lora", type=int, metavar="RANK", help="train an adapter of this rank beside the frozen model")
    parser.add_argument("--compile", action="store_true", help="through torch.compile; needs a C++ compiler")
    common.add_threads_argument(parser)
    return parser.parse_args()


def main() -> None:
    """Runs the steps and prints the result."""
    args = arguments()
    common.limit_threads(args.threads)

    import models
    import torch
    from torch.nn import functional

    torch.set_num_threads(args.threads)
    imports_bytes = common.peak_memory_bytes()
    model = models.build(args.model, models.weights_dtype(args.dtype, args.lora), args.attention).train()
    if args.lora is not None:
        import peft

        model = peft.get_peft_model(model, models.adapter(args.lora), autocast_adapter_dtype=True)
    optimizer = torch.optim.AdamW(
        [parameter for parameter in model.parameters() if parameter.requires_grad],
        lr=1e-4,
        fused=True if args.optimizer == "fused" else None,
        foreach={"foreach": True, "forloop": False}.get(args.optimizer),
    )
    forward = torch.compile(model) if args.compile else model
    tokens = models.random_tokens(args.model, args.sequences, args.length)
    # The last position has no next token. Marking it, rather than cutting it off, spares a copy of the logits.
    targets = tokens.roll(-1, dims=1)
    targets[:, -1] = -100
    targets = targets.flatten()

    def precision() -> contextlib.AbstractContextManager:
        if args.dtype == "bf16-autocast":
            return torch.autocast("cpu", dtype=torch.bfloat16)
        return contextlib.nullcontext()

    def step() -> None:
        with precision():
            logits = forward(input_ids=tokens, use_cache=False).logits
        loss = functional.cross_entropy(logits.flatten(0, 1).float(), targets)
        del logits
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    for _ in range(args.warm_up):
        step()
    seconds = common.median([common.seconds_of(step) for _ in range(args.steps)])
    common.emit(
        peer="torch",
        what="train",
        model=args.model,
        parameters=models.parameters(model),
        dtype=args.dtype,
        lora=args.lora,
        sequences=args.sequences,
        length=args.length,
        compiled=args.compile,
        optimizer=args.optimizer,
        attention=args.attention,
        threads=args.threads,
        seconds=seconds,
        tokens_per_second=args.sequences * args.length / seconds,
        peak_memory_bytes=common.peak_memory_bytes(),
        imports_memory_bytes=imports_bytes,
        versions=common.versions("torch", "transformers"),
    )


if __name__ == "__main__":
    main()
