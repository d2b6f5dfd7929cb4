#!/usr/bin/env bash
# run.sh [FAMILY...]: models that transformers saves load here and compute the same, and models that jobs make here load in
# transformers and go on with the same tokens; of all families in tests/data/models, or of those that are named (as
# `tiny-qwen2`). Runs target/debug/anneal, or $ANNEAL, against a server of its own.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
venv=target/interop
if [ ! -e "$venv/installed" ]; then
  python3 -m venv "$venv"
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r tests/interop/requirements.txt
  touch "$venv/installed"
fi
data=$(mktemp -d)
mkdir "$data/models"
"${ANNEAL:-target/debug/anneal}" serve --listen 127.0.0.1:0 --devices cpu --log error --data-dir "$data/data" \
  --import-roots "$data/models" > "$data/out" 2> "$data/err" &
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
"$venv/bin/python" tests/interop/check.py "$base" "$data/models" "$@"
