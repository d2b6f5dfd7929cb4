#!/usr/bin/env bash
# What is long and rarely breaks, beside .ci/run: before a release, and before a large change is called done. Needs what
# .ci/run needs, and debootstrap and root for the image.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

step() { printf '\n== %s (%ds)\n' "$1" "$SECONDS"; }

step "200 kills, stopped workers, locked databases, full disks"
ANNEAL_KILLS=200 cargo test --locked --test recovery

step "50,000 cases from the document"
cargo build --locked
scripts/fuzz.sh 50000

step "a release build with CUDA"
scripts/cuda_build.sh --check

step "the image"
scripts/check_image.sh

step "done"
