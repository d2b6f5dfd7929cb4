#!/usr/bin/env bash
# llama.sh: llama.cpp reads GGUF files of the families as tests/golden_models.rs writes and reads them, and computes the same.
# Builds llama-cpp-python from source the first time, which takes many minutes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
venv=target/interop-llama
if [ ! -e "$venv/installed" ]; then
  python3 -m venv "$venv"
  CMAKE_ARGS="-DGGML_NATIVE=ON -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_TESTS=OFF" \
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check numpy==2.4.6 llama-cpp-python==0.3.36
  touch "$venv/installed"
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
GGUF_OUT=$folder cargo test --locked --test golden_models models_are_the_same_in_gguf
"$venv/bin/python" tests/interop/llama.py "$folder"
