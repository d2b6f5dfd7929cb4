#!/usr/bin/env bash
# Fails when the committed clients are not what their generators make of openapi/openapi.json.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
clients/generate.sh "$fresh"
for part in typescript/src/schema.ts python/src/anneal_client/generated rust/src/generated.rs; do
  diff -r --brief --exclude=__pycache__ "clients/$part" "$fresh/$part" ||
    { echo "clients/$part is stale; run clients/generate.sh"; exit 1; }
done
echo "the clients are current"
