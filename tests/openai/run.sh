#!/usr/bin/env bash
# Takes the unmodified Python client of OpenAI through files, uploads, fine-tuning, graders, models and completions on a
# real server, with only base_url changed. Runs target/debug/anneal, or $ANNEAL.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
venv=target/openai
if [ ! -e "$venv/installed" ]; then
  python3 -m venv "$venv"
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check openai==3.54.0
  touch "$venv/installed"
fi
# shellcheck source=tests/server.sh
source tests/server.sh
serve "$@"
"$venv/bin/python" tests/openai/script.py "$base"
"$venv/bin/python" tests/openai/inference.py "$base"
