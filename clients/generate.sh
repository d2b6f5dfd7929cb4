#!/usr/bin/env bash
# Writes the generated parts of the TypeScript and the Python client from openapi/openapi.json: into clients/, or below
# the folder that is given. The generators are pinned and kept in target/clients. Needs node, npm, and python3 with venv
# and pip. The Rust client needs no such step: it reads the document when it is built.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
document=$PWD/openapi/openapi.json
out=${1:-clients}
mkdir -p "$out"
out=$(cd "$out" && pwd)
source clients/tools.sh

node_tools
mkdir -p "$out/typescript/src"
"$node/node_modules/.bin/openapi-typescript" "$document" --default-non-nullable false --output "$out/typescript/src/schema.ts" >/dev/null

python_tools
mkdir -p "$out/python/src/anneal_client"
rm -rf "$out/python/src/anneal_client/generated"
"$python/bin/openapi-python-client" generate --path "$document" --config clients/python/openapi.yaml --meta none \
  --fail-on-warning --output-path "$out/python/src/anneal_client/generated" >/dev/null
# The generator leaves spaces at the ends of lines and runs of empty lines.
"$python/bin/python" - "$out/python/src/anneal_client/generated" <<'PYTHON'
import pathlib, re, sys
for path in pathlib.Path(sys.argv[1]).rglob("*.py"):
    path.write_text(re.sub(r"\n{3,}", "\n\n", re.sub(r"[ \t]+\n", "\n", path.read_text())).strip() + "\n")
PYTHON

echo "TypeScript and Python are generated"
