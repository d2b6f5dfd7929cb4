"""Writes a GGUF file in another precision, with the quantizer of llama.cpp.

    python convert_gguf.py --input model-q4.gguf --output model-f32.gguf --type f32

Going up from a quantized file restores no precision. It makes a file on which llama.cpp computes in the wanted type,
which is all that a measurement of speed needs.
"""

import argparse
import ctypes
import os
from pathlib import Path

import common

FILE_TYPES = {"f32": "LLAMA_FTYPE_ALL_F32", "f16": "LLAMA_FTYPE_MOSTLY_F16", "bf16": "LLAMA_FTYPE_MOSTLY_BF16"}


def convert(source: Path, target: Path, file_type: str, threads: int) -> None:
    """Writes `source` as `target`; a failed attempt leaves no `target` behind."""
    common.limit_threads(threads)

    import llama_cpp

    params = llama_cpp.llama_model_quantize_default_params()
    params.nthread = threads
    params.ftype = getattr(llama_cpp, FILE_TYPES[file_type])
    params.allow_requantize = True
    partial = target.with_name(target.name + ".part")
    status = llama_cpp.llama_model_quantize(os.fsencode(source), os.fsencode(partial), ctypes.byref(params))
    if status != 0:
        partial.unlink(missing_ok=True)
        raise RuntimeError(f"llama.cpp could not convert {source}: status {status}")
    partial.replace(target)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--input", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--type", choices=tuple(FILE_TYPES), required=True)
    common.add_threads_argument(parser)
    args = parser.parse_args()
    convert(args.input, args.output, args.type, args.threads)


if __name__ == "__main__":
    main()
