"""Writes tests/data/gguf_blocks.json: two blocks of each type of number that GGUF files have, and the numbers that the Python
package gguf (0.19, by llama.cpp's authors) reads from them.

    pip install gguf==0.19.0 && python3 tests/text/gguf_blocks.py > tests/data/gguf_blocks.json
"""

import json

import numpy as np
from gguf import GGMLQuantizationType as Kind
from gguf import quants

KINDS = [Kind.Q4_0, Kind.Q4_1, Kind.Q5_0, Kind.Q5_1, Kind.Q8_0, Kind.Q2_K, Kind.Q3_K, Kind.Q4_K, Kind.Q5_K, Kind.Q6_K]
# Where a block keeps its scales, which are 16-bit floats; all other bytes may be anything.
SCALES = {
    Kind.Q4_0: [0],
    Kind.Q4_1: [0, 2],
    Kind.Q5_0: [0],
    Kind.Q5_1: [0, 2],
    Kind.Q8_0: [0],
    Kind.Q2_K: [80, 82],
    Kind.Q3_K: [108],
    Kind.Q4_K: [0, 2],
    Kind.Q5_K: [0, 2],
    Kind.Q6_K: [208],
}


def main():
    random = np.random.default_rng(18)
    made = []
    for kind in KINDS:
        _, size = quants.GGML_QUANT_SIZES[kind]
        blocks = random.integers(0, 256, (2, size), dtype=np.uint8)
        for place in SCALES[kind]:
            scales = random.uniform(-0.05, 0.05, 2).astype(np.float16)
            blocks[:, place : place + 2] = scales.view(np.uint8).reshape(2, 2)
        values = quants.dequantize(blocks, kind).astype(np.float32).reshape(-1)
        made.append({"type": int(kind), "name": kind.name, "blocks": blocks.tobytes().hex(), "values": values.astype(float).tolist()})
    print("[\n" + ",\n".join(json.dumps(case) for case in made) + "\n]")


if __name__ == "__main__":
    main()
