#!/usr/bin/env bash
# Runs EleutherAI's lm-evaluation-harness, unmodified, against a real server: multiple choice by the log-probabilities of echoed
# prompts, and generation, through /v1/completions and /v1/chat/completions. Runs target/debug/anneal, or $ANNEAL.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
venv=target/harness
if [ ! -e "$venv/installed" ]; then
  python3 -m venv "$venv"
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "lm-eval[api]==0.4.13" transformers==5.24.0
  touch "$venv/installed"
fi
# shellcheck source=tests/server.sh
source tests/server.sh
serve "$@"
HF_HUB_OFFLINE=1 HF_DATASETS_OFFLINE=1 TOKENIZERS_PARALLELISM=false "$venv/bin/python" tests/harness/script.py "$base"
