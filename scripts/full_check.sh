#!/usr/bin/env bash
# What is long and rarely breaks, beside .ci/run: before a release, and before a large change is called done. Needs what
# .ci/run needs, and root for the image; installs faketime and debootstrap where they are missing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

dpkg -s faketime debootstrap >/dev/null 2>&1 ||
  { apt-get update -qq && apt-get install -y -qq faketime debootstrap; } >/dev/null

step() { printf '\n== %s (%ds)\n' "$1" "$SECONDS"; }

step "200 kills, stopped workers, locked databases, full disks, changed bytes"
ANNEAL_KILLS=200 cargo test --locked --test recovery --test upkeep

step "50,000 cases from the document"
cargo build --locked
scripts/fuzz.sh 50000

step "models of all families, from transformers to here and back, and as GGUF files for llama.cpp"
tests/interop/run.sh
tests/interop/llama.sh

step "ten minutes of four jobs in twelve charts"
SOAK_MINUTES=10 SOAK_TIMES=1 scripts/ui.sh --test soak

step "clocks that are set"
python3 scripts/clock_check.py

step "advisories about dependencies, where their database can be had"
cargo install --locked --debug --quiet --root target/tools cargo-deny@0.20.2
if timeout 120 target/tools/bin/cargo-deny fetch db; then
  target/tools/bin/cargo-deny --locked --features cuda,nccl,cuda-emulated check --hide-inclusion-graph advisories
else
  echo "the database of advisories cannot be reached from here"
fi

step "another project beside attackers, a bill of materials"
cargo build --locked --release
python3 scripts/siege.py
scripts/provenance.sh

step "a release build with CUDA"
scripts/cuda_build.sh --check

step "the image"
scripts/check_image.sh

step "done"
