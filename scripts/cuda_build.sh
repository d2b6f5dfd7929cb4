#!/usr/bin/env bash
# Builds anneal with CUDA on a machine without a GPU, a driver or a CUDA toolkit. See --help.
set -euo pipefail

usage() {
  cat <<'END'
Usage: scripts/cuda_build.sh [--check | --tests | --env] [PREFIX]

Builds anneal with the features `cuda` and `nccl`. Needs cargo, g++, python3 with pip and a connection to its package
index; no GPU, no driver, no CUDA toolkit. The compiler, nvcc 13.0, is installed once from Python wheels into PREFIX
(about 280 MB), and nothing is written outside of it and of cargo's target folder.

  PREFIX     where the compiler is kept   [default: ${XDG_CACHE_HOME:-~/.cache}/anneal/cuda-13.0]

  --check    clippy with warnings as errors first, then the build
  --tests    also build the unit tests, as target/release/anneal-tests, for scripts/gpu_check.sh --pack
  --env      only install the compiler, and print what to set for builds by hand:
               eval "$(scripts/cuda_build.sh --env)" && cargo build --features cuda,nccl
  --help     this text

After the build the program is started: it must say that it is a CUDA build, must not be linked against any library of
CUDA (it looks for them when it runs), and on a machine without a GPU must say so and not crash.

CARGO_TARGET_DIR is heeded. Exit code 0: built and checked.
END
}

die() {
  printf 'cuda_build.sh: %s\n' "$*" >&2
  exit 1
}

say() { printf '%s\n' "$*" >&2; }

# CUDA 13.1 and later emit PTX that driver 580, the oldest for CUDA 13, refuses. So pip must not choose the newest.
WHEELS=(
  nvidia-cuda-nvcc==13.0.88
  nvidia-nvvm==13.0.88
  nvidia-cuda-crt==13.0.88
  nvidia-cuda-cccl==13.0.85
  nvidia-cuda-runtime==13.0.96
)
FEATURES=cuda,nccl

mode=build
prefix=
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) usage && exit 0 ;;
    --check) mode=check ;;
    --tests) mode=tests ;;
    --env) mode='env' ;;
    -*) die "there is no option $1; see --help" ;;
    '') die "PREFIX is empty" ;;
    *)
      [ -z "$prefix" ] || die "one PREFIX is enough; see --help"
      prefix=$1
      ;;
  esac
  shift
done

needed() { command -v "$1" >/dev/null || die "$1 is missing; install $2"; }

# Installs the wheels into $prefix, whole or not at all.
install_compiler() {
  local stamp=$prefix/anneal-wheels.txt partial=$prefix.partial.$$
  if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "${WHEELS[*]}" ] && [ -x "$NVCC" ]; then
    return
  fi
  if [ -e "$prefix" ] && [ ! -f "$stamp" ]; then
    die "$prefix exists and was not made by this script; remove it or name another PREFIX"
  fi
  needed python3 "Python 3"
  python3 -m pip --version >/dev/null 2>&1 || die "python3 has no pip; install it (python3-pip)"
  say "installing nvcc 13.0 into $prefix"
  mkdir -p "$(dirname "$prefix")"
  # shellcheck disable=SC2064 # the name as it is now
  trap "rm -rf '$partial'" EXIT
  python3 -m pip install --quiet --no-deps --only-binary :all: --no-compile --disable-pip-version-check \
    --root-user-action=ignore --target "$partial" "${WHEELS[@]}" >&2 || die "the compiler's wheels could not be installed"
  printf '%s\n' "${WHEELS[*]}" >"$partial/anneal-wheels.txt"
  rm -rf "$prefix"
  # With -T a folder that somebody else has put there meanwhile is an error and not the place to move into.
  mv -T "$partial" "$prefix" || die "$prefix was taken by somebody else meanwhile; try again"
  trap - EXIT
}

# A compiler that starts may still miss its other halves: compile something.
try_compiler() {
  local folder
  folder=$(mktemp -d)
  printf '__global__ void twice(float *x) { x[threadIdx.x] *= 2; }\n' >"$folder/twice.cu"
  "$NVCC" --fatbin -gencode arch=compute_90,code=sm_90 -o "$folder/twice.fatbin" "$folder/twice.cu" >&2 ||
    die "nvcc does not work; is this g++ too new or too old for it? (7 to 15)"
  rm -rf "$folder"
}

# What the built program says on this machine.
check_program() {
  local program=$1 folder version linked code
  version=$("$program" --version)
  case $version in
    *cuda*) ;;
    *) die "$program says it is no CUDA build: $version" ;;
  esac
  linked=$(ldd "$program" | grep -E 'lib(cuda|cudart|cublas|cublasLt|nccl|nvrtc)\.' || true)
  [ -z "$linked" ] || die "$program is linked against CUDA and would not start without it: $linked"

  folder=$(mktemp -d)
  # shellcheck disable=SC2064
  trap "rm -rf '$folder'" EXIT
  # Standard input is closed, so a supervised server that could start ends at once.
  (cd "$folder" && timeout 60 "$program" serve --supervised --listen 127.0.0.1:0 --data-dir data --devices cpu \
    </dev/null >out 2>err) || die "the program does not start on the CPU: $(cat "$folder/err")"
  if [ -e /dev/nvidiactl ]; then
    say "this machine has a GPU; what the program says without one is not checked"
  else
    code=0
    (cd "$folder" && timeout 60 "$program" serve --supervised --listen 127.0.0.1:0 --data-dir data --devices cuda:0 \
      </dev/null >out 2>err) || code=$?
    [ "$code" -gt 0 ] && [ "$code" -lt 124 ] ||
      die "without a GPU, --devices cuda:0 ended with $code and not with an error: $(cat "$folder/err")"
    grep -qiE 'cuda|driver' "$folder/err" ||
      die "without a GPU, --devices cuda:0 does not say what is missing: $(cat "$folder/err")"
    say "without a GPU the program says: $(tail -n 1 "$folder/err")"
  fi
  rm -rf "$folder"
  trap - EXIT
  say "built and checked: $program ($version)"
}

[ "$(uname -s)" = Linux ] || die "only Linux has CUDA"
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
prefix=${prefix:-${XDG_CACHE_HOME:-${HOME:?is not set; name a PREFIX}/.cache}/anneal/cuda-13.0}
prefix=$(realpath -m "$prefix")
export CUDA_HOME=$prefix/nvidia/cu13
export NVCC=$CUDA_HOME/bin/nvcc
# build.rs takes $NVCC first; another toolkit on this machine must not get in between.
unset CUDA_PATH NVCC_PREPEND_FLAGS NVCC_APPEND_FLAGS

needed g++ "a C++ compiler (g++), nvcc works with it"
if [ "$mode" != env ]; then
  needed cargo "a Rust toolchain"
fi
install_compiler
try_compiler
if [ "$mode" = env ]; then
  printf 'export CUDA_HOME=%q NVCC=%q\n' "$CUDA_HOME" "$NVCC"
  exit 0
fi

cd "$root"
if [ "$mode" = check ]; then
  cargo clippy --locked --all-targets --features "$FEATURES" -- -D warnings
fi
cargo build --locked --release --features "$FEATURES"
check_program "$(realpath "${CARGO_TARGET_DIR:-target}")/release/anneal"
if [ "$mode" = tests ]; then
  # The same program with its unit tests; cargo tells where it puts it.
  program=$(cargo test --locked --release --features "$FEATURES" --lib --no-run --message-format=json |
    python3 -c 'import json, sys
found = [json.loads(line).get("executable") for line in sys.stdin if line.startswith("{")]
print([path for path in found if path][-1])')
  cp "$program" "$(realpath "${CARGO_TARGET_DIR:-target}")/release/anneal-tests"
fi
