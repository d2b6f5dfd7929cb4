#!/usr/bin/env bash
# Fails when the committed clients are not what their generators make of openapi/openapi.json, or when the Rust client
# would be published without it: the package is made and built as somebody would who downloaded it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
clients/generate.sh "$fresh"
for part in typescript/src/schema.ts python/src/anneal_client/generated; do
  diff -r --brief --exclude=__pycache__ "clients/$part" "$fresh/$part" ||
    { echo "clients/$part is stale; run clients/generate.sh"; exit 1; }
done
rm -rf target/clients/rust/package
cargo package --quiet --locked --allow-dirty --manifest-path clients/rust/Cargo.toml --target-dir target/clients/rust
tar -xOzf target/clients/rust/package/anneal-client-*.crate --wildcards '*/openapi.json' | cmp - openapi/openapi.json ||
  { echo "the package of clients/rust lacks the document"; exit 1; }
echo "the clients are current"
