#!/usr/bin/env bash
# Checks a CUDA build of anneal on a machine with a GPU, in one command and without a network. See --help.
set -euo pipefail

usage() {
  cat <<'END'
Usage: scripts/gpu_check.sh --pack DIR          here: collect what the other machine needs
       DIR/gpu_check.sh [--device D] [--out F]  there: check, measure, print one table

--pack takes the program and the unit tests that `scripts/cuda_build.sh --tests` built (or those in $ANNEAL and
$ANNEAL_TESTS) and puts them with this script into DIR, together less than 60 MiB.

On the other machine nothing is needed but bash, python3 and the libraries of CUDA 13 (those of a PyTorch wheel are
found). In at most 8 minutes it runs:
  1. the tests of the operations, forward and backward, on the device
  2. a job of every objective on the built-in model, from submission to the downloaded weights
  3. a job whose worker is killed, which must end with the weights of an undisturbed one
  4. `anneal bench` on the shapes of Qwen3-0.6B and 1.7B in bf16, and PyTorch with transformers beside it, if they are
     installed there

  --device D   cuda:0 (default), or cpu: the same course with the small model, to check the check itself
  --out F      also write the figures as JSON

Exit code 0: everything passed, whatever the speed was.
END
}

die() {
  printf 'gpu_check.sh: %s\n' "$*" >&2
  exit 1
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

pack() {
  local to=$1 target=${CARGO_TARGET_DIR:-$here/../target} anneal tests
  anneal=${ANNEAL:-$target/release/anneal}
  tests=${ANNEAL_TESTS:-$target/release/anneal-tests}
  [ -x "$anneal" ] || die "$anneal is not there; run scripts/cuda_build.sh --tests, or set ANNEAL"
  [ -x "$tests" ] || die "$tests is not there; run scripts/cuda_build.sh --tests, or set ANNEAL_TESTS"
  mkdir -p "$to"
  strip -o "$to/anneal" "$anneal"
  strip -o "$to/anneal-tests" "$tests"
  # Both programs hold the whole engine; packed they are a third of it.
  xz --force --threads=0 "$to/anneal" "$to/anneal-tests"
  cp "$here/gpu_check.sh" "$here/gpu/check.py" "$here/gpu/torch_peer.py" "$to/"
  local size
  size=$(du -sm "$to" | cut -f1)
  [ "$size" -lt 60 ] || die "$to has $size MiB, and at most 60 travel"
  printf '%s: %s MiB\n' "$to" "$size"
}

case "${1:-}" in
  -h | --help)
    usage
    exit 0
    ;;
  --pack)
    [ $# -eq 2 ] || die "--pack needs a folder"
    pack "$2"
    exit 0
    ;;
esac

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ -f "$here/anneal.xz" ]; then
  for name in anneal anneal-tests; do
    python3 -c 'import lzma, shutil, sys
with lzma.open(sys.argv[1]) as packed, open(sys.argv[2], "wb") as out:
    shutil.copyfileobj(packed, out)' "$here/$name.xz" "$work/$name"
    chmod +x "$work/$name"
  done
  export ANNEAL=${ANNEAL:-$work/anneal} ANNEAL_TESTS=${ANNEAL_TESTS:-$work/anneal-tests}
fi

script=$here/check.py
[ -f "$script" ] || script=$here/gpu/check.py
# The libraries of CUDA, where a PyTorch wheel or the toolkit has them.
libraries=$(python3 - <<'END' || true
import glob, site, sys
folders = site.getsitepackages() + [p for p in sys.path if p.endswith("site-packages")]
found = [d for f in folders for d in glob.glob(f + "/nvidia/cu13/lib") + glob.glob(f + "/nvidia/nccl/lib")]
print(":".join(dict.fromkeys(found + glob.glob("/usr/local/cuda/lib64"))))
END
)
# NCCL's wheel has only the name with the version, which the program does not look for.
mkdir "$work/links"
IFS=: read -ra folders <<<"$libraries"
for folder in "${folders[@]}"; do
  [ ! -e "$folder/libnccl.so.2" ] || ln -sf "$folder/libnccl.so.2" "$work/links/libnccl.so"
done
export LD_LIBRARY_PATH="$libraries:$work/links${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
python3 "$script" "$@"
