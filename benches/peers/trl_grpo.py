"""Measures one step of TRL's GRPOTrainer: sampling every group, rewards, forward, backward and AdamW.

    python trl_grpo.py --model tiny --prompts 8 --completions 8 --new-tokens 64 --dtype f32

Set up to be as fast as the trainer gets on a CPU without changing what it computes: no reference model (beta 0), no
gradient checkpointing, no logging, no saving, one optimizer step for each batch of completions. A step is the time from
the end of the step before it to its own end. The tokenizer is made here: one word for each token of the vocabulary,
and an end-of-sequence token behind the last one, which the model therefore never samples.

`bf16-autocast` is the trainer's own default (f32 weights, products in bf16); `bf16` holds the weights and AdamW's state
in bf16 too. With `--lora` peft trains an adapter on all linear layers, and the frozen model is
in bf16 with either, as in torch_train.py.
"""

import argparse
import contextlib
import random
import sys
import tempfile
import time

import common

DTYPES = ("f32", "bf16-autocast", "bf16")
# Completions in a forward and backward pass: as many as fit comfortably into memory. The rest is accumulated.
MICRO_BATCH = {"tiny": 64, "smollm2-135m": 16}


def arguments() -> argparse.Namespace:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True)
    parser.add_argument("--prompts", type=int, default=8)
    parser.add_argument("--completions", type=int, default=8, help="completions of each prompt (default: 8)")
    parser.add_argument("--prompt-tokens", type=int, default=64)
    parser.add_argument("--new-tokens", type=int, default=64)
    parser.add_argument("--dtype", choices=DTYPES, required=True)
    parser.add_argument("--steps", type=int, default=1, help="measured steps (default: 1)")
    parser.add_argument("--warm-up", type=int, default=1, help="steps before the measured ones (default: 1)")
    parser.add_argument("--micro-batch", type=int, help="completions in a pass (default: by model)")
    parser.add_argument("--lora", type=int, metavar="RANK", help="train an adapter of this rank beside the frozen model")
    parser.add_argument("--attention", choices=("sdpa", "eager"), default="sdpa")
    common.add_threads_argument(parser)
    args = parser.parse_args()
    rows = args.prompts * args.completions
    args.micro_batch = min(args.micro_batch or MICRO_BATCH.get(args.model, rows), rows)
    if rows % args.micro_batch:
        parser.error("--micro-batch must divide the number of completions of a step")
    return args


def word(token: int) -> str:
    """The text of a plain token."""
    return f"w{token}"


def make_tokenizer(vocabulary: int):
    """A tokenizer that maps one word to each id of the model, with the end-of-sequence token outside of them."""
    import models
    from tokenizers import Tokenizer, pre_tokenizers
    from tokenizers.models import WordLevel
    from transformers import PreTrainedTokenizerFast

    ids = {word(token): token for token in range(models.FIRST_PLAIN_TOKEN_ID, vocabulary)}
    ids |= {"<pad>": models.PAD_TOKEN_ID, "<unk>": 1, "<reserved-2>": 2, "<reserved-3>": 3, "<eos>": vocabulary}
    tokenizer = Tokenizer(WordLevel(ids, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="<pad>",
        unk_token="<unk>",
        eos_token="<eos>",
        padding_side="left",
    )


def even_share(completion_ids: list[list[int]], **_: object) -> list[float]:
    """Reward: the share of tokens with an even id. Costs nothing and differs within every group."""
    return [sum(token % 2 == 0 for token in ids) / len(ids) for ids in completion_ids]


def main() -> None:
    """Runs the steps and prints the result."""
    args = arguments()
    common.limit_threads(args.threads)

    import models
    import torch
    from datasets import Dataset
    from transformers import TrainerCallback
    from trl import GRPOConfig, GRPOTrainer

    torch.set_num_threads(args.threads)
    vocabulary = models.SHAPES[args.model]["vocab_size"]
    model = models.build(args.model, models.weights_dtype(args.dtype, args.lora), args.attention)
    tokenizer = make_tokenizer(vocabulary)
    generator = random.Random(0)
    steps = args.warm_up + args.steps
    prompts = [
        " ".join(word(generator.randrange(models.FIRST_PLAIN_TOKEN_ID, vocabulary)) for _ in range(args.prompt_tokens))
        for _ in range(args.prompts * steps)
    ]

    sampled: list[tuple[float, int]] = []
    generate = model.generate

    def timed_generate(*positional, **named):
        start = time.perf_counter()
        completed = generate(*positional, **named)
        sampled.append((time.perf_counter() - start, completed.numel()))
        return completed

    model.generate = timed_generate

    class Clock(TrainerCallback):
        """Notes when training starts and when each step ends."""

        def __init__(self) -> None:
            self.ticks: list[float] = []

        def on_train_begin(self, *_: object, **__: object) -> None:
            self.ticks.append(time.perf_counter())

        def on_step_end(self, *_: object, **__: object) -> None:
            self.ticks.append(time.perf_counter())

    clock = Clock()
    rows = args.prompts * args.completions
    with tempfile.TemporaryDirectory() as directory:
        config = GRPOConfig(
            output_dir=directory,
            use_cpu=True,
            bf16=args.dtype == "bf16-autocast",
            max_steps=steps,
            per_device_train_batch_size=args.micro_batch,
            gradient_accumulation_steps=rows // args.micro_batch,
            num_generations=args.completions,
            max_completion_length=args.new_tokens,
            temperature=1.0,
            beta=0.0,
            gradient_checkpointing=False,
            learning_rate=1e-5,
            report_to="none",
            logging_strategy="no",
            save_strategy="no",
            disable_tqdm=True,
            dataloader_pin_memory=False,
        )
        trainer = GRPOTrainer(
            model=model,
            reward_funcs=even_share,
            args=config,
            train_dataset=Dataset.from_dict({"prompt": prompts}),
            processing_class=tokenizer,
            callbacks=[clock],
            peft_config=args.lora and models.adapter(args.lora),
        )
        # The trainer reports on standard output, which is kept for the result.
        with contextlib.redirect_stdout(sys.stderr):
            trainer.train()

    expected = rows * (args.prompt_tokens + args.new_tokens)
    if len(sampled) != steps or any(tokens != expected for _, tokens in sampled):
        raise RuntimeError(f"{steps} generations of {expected} tokens were due, these took place: {sampled}")
    ends = clock.ticks
    seconds = common.median([end - start for start, end in zip(ends, ends[1:], strict=False)][args.warm_up :])
    sampling_seconds = common.median([seconds for seconds, _ in sampled][args.warm_up :])
    common.emit(
        peer="trl",
        what="grpo_step",
        model=args.model,
        parameters=models.parameters(model),
        dtype=args.dtype,
        prompts=args.prompts,
        completions=args.completions,
        prompt_tokens=args.prompt_tokens,
        new_tokens=args.new_tokens,
        micro_batch=args.micro_batch,
        attention=args.attention,
        lora=args.lora,
        threads=args.threads,
        seconds=seconds,
        sampling_seconds=sampling_seconds,
        peak_memory_bytes=common.peak_memory_bytes(),
        versions=common.versions("torch", "transformers", "trl"),
    )


if __name__ == "__main__":
    main()
