#!/usr/bin/env bash
# llama.sh: llama.cpp reads GGUF files of the families as exports write them, and computes the same; and those of a real model
# with an adapter, in every type. Builds llama-cpp-python from source the first time, which takes many minutes. Runs
# target/debug/anneal, or $ANNEAL, against a server of its own.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
venv=target/interop-llama
if [ ! -e "$venv/installed" ]; then
  python3 -m venv "$venv"
  CMAKE_ARGS="-DGGML_NATIVE=ON -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_TESTS=OFF" \
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check numpy==2.4.6 gguf==0.19.0 tokenizers==0.22.1 llama-cpp-python==0.3.36
  touch "$venv/installed"
fi
# shellcheck source=tests/server.sh
source tests/server.sh
folder=$data/gguf
mkdir "$folder"
GGUF_OUT=$folder cargo test --locked --test golden_models models_are_the_same_in_gguf
"$venv/bin/python" tests/interop/llama.py "$folder"
bash examples/smollm2/get_model.sh target/smollm2
serve --import-roots "$PWD/target/smollm2"
"$venv/bin/python" tests/interop/exports.py "$base" "$folder" "$PWD"/target/smollm2/*.gguf
