#!/usr/bin/env bash
# Checks licences, bans and sources of all dependencies (deny.toml), and notes in .ci/licences.sha256 for which ones it did:
# .ci/run checks others only. Builds cargo-deny first, where it is missing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

cargo install --locked --debug --quiet --root target/tools cargo-deny@0.20.2
# Advisories need a connection to their database; scripts/full_check.sh looks whether there is one.
target/tools/bin/cargo-deny --locked --features cuda,nccl,cuda-emulated check --hide-inclusion-graph licenses bans sources
sha256sum Cargo.lock deny.toml >.ci/licences.sha256
