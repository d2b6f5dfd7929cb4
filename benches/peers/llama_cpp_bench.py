"""Measures llama.cpp on a GGUF file: prefill and greedy decode speed of a batch of distinct random prompts.

    python llama_cpp_bench.py --gguf smollm2-bf16.gguf --batch 32

All sequences share one context: the prompts are evaluated together, then every decode step evaluates one token of each
sequence, which is how llama.cpp serves parallel requests. The next tokens are picked outside the library with one
argmax over the logits: cheaper than its own sampler, and counted in the decode time all the same.
"""

import argparse
import ctypes
import re
from pathlib import Path

import common

FLASH_ATTENTION = {"auto": -1, "off": 0, "on": 1}


def arguments() -> argparse.Namespace:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gguf", type=Path, required=True)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--prompt-tokens", type=int, default=64)
    parser.add_argument("--new-tokens", type=int, default=64, help="tokens of each completion, 2 or more (default: 64)")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--dtype", help="type of the file's weights (default: as its name says)")
    parser.add_argument("--model", default="smollm2-135m", help="name of the shape in the result")
    parser.add_argument("--flash-attention", choices=tuple(FLASH_ATTENTION), default="auto")
    parser.add_argument("--unified-cache", action="store_true", help="one key-value buffer for all sequences")
    parser.add_argument("--micro-batch", type=int, default=512, help="rows evaluated at a time (default: 512)")
    common.add_threads_argument(parser)
    args = parser.parse_args()
    if args.new_tokens < 2:
        parser.error("--new-tokens must be 2 or more: the first token belongs to the prefill")
    if args.dtype is None:
        named = re.search(r"(?<![a-z0-9])(bf16|f16|f32|i?q\d\w*)(?![a-z0-9])", args.gguf.stem.lower())
        if named is None:
            parser.error("the file's name does not tell its type: give --dtype")
        args.dtype = named.group(1)
    return args


class Evaluator:
    """A llama.cpp context and the batch that feeds it."""

    def __init__(self, args: argparse.Namespace) -> None:
        import llama_cpp

        self.api = llama_cpp
        # The library reports every load on standard error; only the object at the end is wanted.
        self.silence = llama_cpp.llama_log_callback(lambda *_: None)
        llama_cpp.llama_log_set(self.silence, ctypes.c_void_p(None))
        llama_cpp.llama_backend_init()
        self.model = llama_cpp.llama_model_load_from_file(
            str(args.gguf).encode(), llama_cpp.llama_model_default_params()
        )
        if not self.model:
            raise RuntimeError(f"llama.cpp could not load {args.gguf}")
        self.vocabulary = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(self.model))
        self.parameters = llama_cpp.llama_model_n_params(self.model)
        rows = args.batch * args.prompt_tokens
        params = llama_cpp.llama_context_default_params()
        params.n_ctx = args.batch * (args.prompt_tokens + args.new_tokens)
        params.n_batch = max(rows, 512)
        params.n_ubatch = min(args.micro_batch, params.n_batch)
        params.n_seq_max = args.batch
        params.n_threads = args.threads
        params.n_threads_batch = args.threads
        params.flash_attn_type = FLASH_ATTENTION[args.flash_attention]
        params.kv_unified = args.unified_cache
        params.no_perf = True
        self.context = llama_cpp.llama_init_from_model(self.model, params)
        if not self.context:
            raise RuntimeError("llama.cpp could not make a context")
        self.batch = llama_cpp.llama_batch_init(rows, 0, 1)

    def clear(self) -> None:
        """Forgets every sequence."""
        self.api.llama_memory_clear(self.api.llama_get_memory(self.context), True)

    def put(self, row: int, token: int, position: int, sequence: int, wants_logits: bool) -> None:
        """Sets one row of the batch."""
        self.batch.token[row] = token
        self.batch.pos[row] = position
        self.batch.n_seq_id[row] = 1
        self.batch.seq_id[row][0] = sequence
        self.batch.logits[row] = wants_logits

    def evaluate(self, rows: int) -> None:
        """Evaluates the first rows of the batch."""
        self.batch.n_tokens = rows
        status = self.api.llama_decode(self.context, self.batch)
        if status != 0:
            raise RuntimeError(f"llama.cpp could not evaluate a batch: status {status}")

    def best_tokens(self, count: int) -> list[int]:
        """The most probable next token of each row whose logits were asked for, in the order of the rows."""
        import numpy

        logits = self.api.llama_get_logits(self.context)
        return numpy.ctypeslib.as_array(logits, shape=(count, self.vocabulary)).argmax(axis=1).tolist()


def measure(evaluator: Evaluator, prompts: list[list[int]], new_tokens: int) -> tuple[float, float]:
    """Seconds of the prefill, which yields each sequence's first token, and of decoding all further ones."""
    evaluator.clear()
    tokens: list[int] = []

    def prefill() -> None:
        row = 0
        for sequence, prompt in enumerate(prompts):
            for position, token in enumerate(prompt):
                evaluator.put(row, token, position, sequence, position == len(prompt) - 1)
                row += 1
        evaluator.evaluate(row)
        tokens.extend(evaluator.best_tokens(len(prompts)))

    def decode() -> None:
        for produced in range(1, new_tokens):
            for sequence, prompt in enumerate(prompts):
                evaluator.put(sequence, tokens[sequence], len(prompt) + produced - 1, sequence, True)
            evaluator.evaluate(len(prompts))
            tokens[:] = evaluator.best_tokens(len(prompts))

    return common.seconds_of(prefill), common.seconds_of(decode)


def main() -> None:
    """Runs the generations and prints the result."""
    args = arguments()
    common.limit_threads(args.threads)

    import numpy

    evaluator = Evaluator(args)
    generator = numpy.random.default_rng(0)
    prompts = generator.integers(100, evaluator.vocabulary, (args.batch, args.prompt_tokens)).tolist()
    measure(evaluator, prompts, 2)
    measured = [measure(evaluator, prompts, args.new_tokens) for _ in range(args.repetitions)]
    prefill_seconds = common.median([prefill for prefill, _ in measured])
    decode_seconds = common.median([decode for _, decode in measured])
    common.emit(
        peer="llama.cpp",
        what="sample",
        model=args.model,
        parameters=evaluator.parameters,
        dtype=args.dtype,
        batch=args.batch,
        prompt_tokens=args.prompt_tokens,
        new_tokens=args.new_tokens,
        threads=args.threads,
        seconds=prefill_seconds + decode_seconds,
        prefill_seconds=prefill_seconds,
        decode_tokens_per_second=args.batch * (args.new_tokens - 1) / decode_seconds,
        prefill_tokens_per_second=args.batch * args.prompt_tokens / prefill_seconds,
        peak_memory_bytes=common.peak_memory_bytes(),
        versions=common.versions("llama-cpp-python", "numpy"),
    )


if __name__ == "__main__":
    main()
