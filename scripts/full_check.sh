#!/usr/bin/env bash
# What is long and rarely breaks, beside .ci/run: before a release, and before a large change is called done. Needs what
# .ci/run needs, and root for the image; installs faketime and debootstrap where they are missing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

dpkg -s faketime debootstrap >/dev/null 2>&1 ||
  scripts/packages.sh faketime debootstrap

step() { printf '\n== %s (%ds)\n' "$1" "$SECONDS"; }

step "what is tested"
# The program lies there, too, and what follows takes it: for a `cargo build` the crate would be compiled once more.
cargo test --locked --no-run

step "200 kills, stopped workers, locked databases, full disks, changed bytes"
ANNEAL_KILLS=200 cargo test --locked --test recovery --test upkeep

step "exactness, goldens and going on after kills with fewer instructions than the processor has"
# Without vectors all takes 40 times as long.
ANNEAL_INSTRUCTIONS=portable cargo test --locked --test exactness padding
ANNEAL_INSTRUCTIONS=portable cargo test --locked --test golden_models models_match
for flag in avx2 avx512f avx512_bf16; do
  if grep -qw "$flag" /proc/cpuinfo; then
    ANNEAL_INSTRUCTIONS=${flag%f} cargo test --locked --test exactness --test golden_models --test recovery
  fi
done

step "a sweep of 60 jobs whose server and workers are killed ten times"
ANNEAL_TRIALS=60 cargo test --locked --test sweeps killed

step "every suite that starts a server, on PostgreSQL and with files in a bucket; 200 kills of what servers share"
suites=(--test access --test api --test devices --test evaluations --test exports --test inference --test lifecycle
  --test metrics --test models --test openai_view --test ranks --test rollout_sets --test security --test sweeps --test webhooks)
scripts/postgres.sh cargo test --locked "${suites[@]}"
scripts/seaweedfs.sh cargo test --locked "${suites[@]}"
scripts/cluster.sh cargo test --locked "${suites[@]}"
ANNEAL_KILLS=200 ANNEAL_AWAY_SECONDS=120 scripts/cluster.sh cargo test --locked --test cluster -- --test-threads=1 --nocapture

step "machines that Slurm starts"
scripts/slurm.sh cargo test --locked --test slurm -- --test-threads=1

step "a file above 4 GiB in a bucket"
ANNEAL_TEST_LARGE=1 scripts/seaweedfs.sh cargo test --locked --lib above_four

step "what fourteen kinds of jobs take of memory, beside what was said"
ANNEAL_KINDS=all cargo test --locked --test memory

step "licences and sources of dependencies"
scripts/licences.sh

step "the web page in a browser, whole; an evaluation harness of others"
scripts/ui.sh --test
tests/harness/run.sh

step "the study, tiny: every objective, every figure"
python3 examples/study/run.py --smoke --anneal target/debug/anneal --out "$(mktemp -d)"

step "the study, killed with its server and workers, ends with the same results, of more than 60 jobs"
scripts/study_killed.py target/debug/anneal

step "50,000 cases from the document"
scripts/fuzz.sh 50000

step "models of all families, from transformers to here and back, and as GGUF files for llama.cpp"
tests/interop/run.sh
bash examples/smollm2/get_model.sh target/smollm2
tests/interop/run.sh --objectives "$(echo target/smollm2/*.gguf)"
tests/interop/llama.sh

step "an evaluation harness of others on rows of GSM8K, for what a job makes of SmolLM2-135M"
tests/harness/run.sh "$(echo target/smollm2/*.gguf)"

step "rewards from programs, and from mathematics where GSM8K names a file of its rows, for SmolLM2-135M"
ANNEAL=target/debug/anneal examples/rewards/run.sh code
[ -z "${GSM8K:-}" ] || ANNEAL=target/debug/anneal examples/rewards/run.sh math "$GSM8K"

step "ten minutes of four jobs in twelve charts"
SOAK_MINUTES=10 SOAK_TIMES=1 scripts/ui.sh --test soak

step "clocks that are set"
python3 scripts/clock_check.py

step "advisories about dependencies, where their database can be had"
if timeout 120 target/tools/bin/cargo-deny fetch db; then
  target/tools/bin/cargo-deny --locked --features cuda,nccl,cuda-emulated check --hide-inclusion-graph advisories
else
  echo "the database of advisories cannot be reached from here"
fi

step "machines that a real API server of Kubernetes starts"
scripts/kubernetes.sh cargo test --locked --test kubernetes -- --test-threads=1

step "what a newcomer tries on one machine: agents, Slurm, two servers"
scripts/newcomer.sh target/debug/anneal

step "another project beside attackers, a bill of materials"
cargo build --locked --release
python3 scripts/siege.py
scripts/provenance.sh

step "a program with CUDA on a machine without a GPU, and the check of a GPU machine on one that is simulated"
environment=$(scripts/cuda_build.sh --env)
eval "$environment"
data=$(mktemp -d)
trap 'rm -rf "$data"' EXIT
cargo build --locked --features cuda,nccl,cuda-emulated
code=0
target/debug/anneal serve --supervised --listen 127.0.0.1:0 --data-dir "$data/gpu" --devices 0 </dev/null 2>"$data/gpu.txt" ||
  code=$?
if [ ! -e /dev/nvidiactl ]; then
  if [ "$code" -eq 0 ] || ! grep -qi 'driver' "$data/gpu.txt"; then
    echo "without a GPU the program says: $(cat "$data/gpu.txt")"
    exit 1
  fi
fi
tests=$(cargo test --locked --features cuda,nccl,cuda-emulated --lib --no-run --message-format=json 2>/dev/null |
  python3 -c 'import json, sys; print([e for e in (json.loads(l).get("executable") for l in sys.stdin) if e][-1])')
"$tests" engine::cuda
ANNEAL=target/debug/anneal scripts/gpu_check.sh --device simulated:2
ANNEAL=target/debug/anneal ANNEAL_TESTS=$tests scripts/gpu_check.sh --device cpu

step "a release build with CUDA"
scripts/cuda_build.sh --check

step "the image"
scripts/check_image.sh

step "done"
