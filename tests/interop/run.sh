#!/usr/bin/env bash
# run.sh [FAMILY...]: models that transformers saves and adapters that peft saves load here and compute the same, and what
# jobs make here loads in transformers and peft and goes on with the same tokens; of all families in tests/data/models, or of
# those that are named (as `tiny-qwen2`).
# run.sh --objectives MODEL: adapters that each objective makes beside that model, a folder or a GGUF file, load in peft.
# Runs target/debug/anneal, or $ANNEAL, against a server of its own.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
venv=target/interop
if [ ! -e "$venv/installed" ]; then
  python3 -m venv "$venv"
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r tests/interop/requirements.txt
  touch "$venv/installed"
fi
# shellcheck source=tests/server.sh
source tests/server.sh
mkdir "$data/models"
serve --import-roots "$data/models"
if [ "${1:-}" = --objectives ]; then
  "$venv/bin/python" tests/interop/objectives.py "$base" "$data/models" "$2"
else
  "$venv/bin/python" tests/interop/check.py "$base" "$data/models" "$@"
fi
