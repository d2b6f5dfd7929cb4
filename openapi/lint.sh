#!/usr/bin/env bash
# Lints openapi.json; no errors and no warnings are tolerated. The linter is pinned and kept in target/clients. Needs
# node and npm.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
tools=target/clients/lint
if ! cmp -s openapi/package-lock.json "$tools/package-lock.json" || [ ! -e "$tools/installed" ]; then
  rm -rf "$tools"
  mkdir -p "$tools"
  cp openapi/{package.json,package-lock.json,.npmrc} "$tools"
  (cd "$tools" && npm ci --silent --no-audit --no-fund --ignore-scripts)
  touch "$tools/installed"
fi
REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true "$tools/node_modules/.bin/redocly" lint \
  --config openapi/redocly.yaml --max-problems 50 openapi/openapi.json
