#!/usr/bin/env bash
# Runs EleutherAI's lm-evaluation-harness, unmodified, against a real server: multiple choice by the log-probabilities of echoed
# prompts, and generation, through /v1/completions and /v1/chat/completions. Runs target/debug/anneal, or $ANNEAL.
# run.sh             sums, for the built-in model
# run.sh MODEL.gguf  rows of GSM8K, for what a job here makes of that model
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
venv=target/harness
if [ ! -e "$venv/installed" ]; then
  python3 -m venv "$venv"
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "lm-eval[api]==0.4.13" transformers==5.24.0
  touch "$venv/installed"
fi
export HF_HUB_OFFLINE=1 HF_DATASETS_OFFLINE=1 TOKENIZERS_PARALLELISM=false
# shellcheck source=tests/server.sh
source tests/server.sh
if [ -z "${1:-}" ]; then
  serve "$@"
  "$venv/bin/python" tests/harness/script.py "$base"
else
  model=$("$ANNEAL" models import --data-dir "$data/data" --name harness "$1" | head -n 1)
  shift
  serve "$@"
  "$venv/bin/python" tests/harness/gsm8k.py "$base" "$ANNEAL" "$model" tests/data/gsm8k.jsonl
fi
