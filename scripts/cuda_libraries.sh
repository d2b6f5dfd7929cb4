#!/usr/bin/env bash
# Installs the libraries that a CUDA build looks for when it runs and that no driver brings. See --help.
set -euo pipefail

usage() {
  cat <<'END'
Usage: scripts/cuda_libraries.sh FOLDER

Puts libcublas, libcublasLt and NCCL, with their licences, into FOLDER, which may exist: from Python wheels of the CUDA
release that the kernels are compiled with. About 815 MB. Needs python3 with pip and a connection to its package index;
no GPU and no driver. The program finds them after

  echo FOLDER > /etc/ld.so.conf.d/anneal.conf && ldconfig

or with LD_LIBRARY_PATH=FOLDER. A machine with the CUDA 13 toolkit has libcublas already.
END
}

die() {
  printf 'cuda_libraries.sh: %s\n' "$*" >&2
  exit 1
}

case ${1:-} in
  -h | --help) usage && exit 0 ;;
  '' | -*) die "name a folder; see --help" ;;
esac
[ $# = 1 ] || die "one folder is enough; see --help"
folder=$1

python3 -m pip --version >/dev/null 2>&1 || die "python3 with pip is missing (python3-pip)"
mkdir -p "$folder"
# On the same file system, so that the last step moves and does not copy.
wheels=$(mktemp -d "$folder/.wheels.XXXXXX")
trap 'rm -rf "$wheels"' EXIT
python3 -m pip install --quiet --no-cache-dir --no-deps --only-binary :all: --no-compile --disable-pip-version-check \
  --root-user-action=ignore --target "$wheels" nvidia-cublas==13.1.0.3 nvidia-nccl-cu13==2.28.9 ||
  die "the wheels could not be installed"
mv -f "$wheels"/nvidia/cu13/lib/libcublas.so.13 "$wheels"/nvidia/cu13/lib/libcublasLt.so.13 \
  "$wheels"/nvidia/nccl/lib/libnccl.so.2 "$folder/"
mv -f "$wheels"/nvidia_cublas-*.dist-info/licenses/License.txt "$folder/LICENSE-cublas"
mv -f "$wheels"/nvidia_nccl_cu13-*.dist-info/licenses/License.txt "$folder/LICENSE-nccl"
# NCCL is looked for without its version.
ln -sfn libnccl.so.2 "$folder/libnccl.so"
for library in libcublas.so.13 libcublasLt.so.13 libnccl.so.2; do
  missing=$(ldd "$folder/$library" | grep 'not found' || true)
  [ -z "$missing" ] || die "$library needs what this system lacks: $missing"
done
printf 'installed in %s: libcublas, libcublasLt, NCCL\n' "$folder"
