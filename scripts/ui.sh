#!/usr/bin/env bash
# Builds the web page from ui/ into ui/dist, which is committed so that a build of the program needs no node.
#   scripts/ui.sh            builds it
#   scripts/ui.sh --check    fails when ui/dist is not what the sources give, or is larger than it may be
#   scripts/ui.sh --pictures DIR    writes a picture of every view in both themes there
#   scripts/ui.sh --test     tries it in a browser, with target/debug/anneal; installs Chromium from Debian's package, and for
#                            tests/mlflow.spec.ts has pip download the wheel whose page is tried
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1

# As the lockfile names them, installed once.
if ! cmp -s ui/package-lock.json ui/node_modules/installed; then
  (cd ui && npm ci --silent --no-audit --no-fund --ignore-scripts)
  cp ui/package-lock.json ui/node_modules/installed
fi

# What tests need.
browser() {
  if ! command -v chromium >/dev/null; then
    scripts/packages.sh chromium fonts-dejavu-core
  fi
  [ -x target/debug/anneal ] || cargo test --locked --no-run --test page
}

case ${1:-} in
  "")
    (cd ui && npm run --silent build)
    ;;
  --check)
    fresh=$(mktemp -d)
    trap 'rm -rf "$fresh"' EXIT
    (cd ui && npm run --silent check && npx vite build --logLevel warn --emptyOutDir --outDir "$fresh")
    diff -r "$fresh" ui/dist || { echo "ui/dist is stale; run scripts/ui.sh"; exit 1; }
    node ui/tests/budget.mjs
    ;;
  --test)
    browser
    (cd ui && npx playwright test "${@:2}")
    ;;
  --pictures)
    browser
    mkdir -p "${2:?a folder}"
    export PICTURES
    PICTURES=$(cd "$2" && pwd)
    (cd ui && npx playwright test pictures)
    ;;
  *)
    echo "usage: scripts/ui.sh [--check | --test | --pictures DIR]" >&2
    exit 2
    ;;
esac
