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
data=$(mktemp -d)
"${ANNEAL:-target/debug/anneal}" serve --listen 127.0.0.1:0 --devices cpu --log error --data-dir "$data/data" \
  > "$data/out" 2> "$data/err" &
server=$!
finish() {
  kill "$server" 2>/dev/null || true
  wait "$server" 2>/dev/null || true
  rm -rf "$data"
}
trap finish EXIT
for _ in $(seq 200); do
  base=$(grep -o 'http://[0-9.]*:[0-9]*' "$data/out" | head -1) && break
  sleep 0.1
done
[ -n "${base:-}" ] || { echo "the server did not start: $(cat "$data/err")"; exit 1; }
"$venv/bin/python" tests/openai/script.py "$base"
"$venv/bin/python" tests/openai/inference.py "$base"
