#!/usr/bin/env bash
# What trackers of other projects make of a job: TensorBoard, unmodified, reads the files that `anneal jobs tensorboard` writes and the one
# that the server gives. Runs target/debug/anneal, or $ANNEAL.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
venv=target/trackers
if [ ! -e "$venv/installed" ]; then
  python3 -m venv "$venv"
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check tensorboard==2.21.0 setuptools==80.9.0
  touch "$venv/installed"
fi
# shellcheck source=tests/server.sh
source tests/server.sh
serve "$@"
"$venv/bin/python" tests/trackers/script.py "$base" "${ANNEAL:-target/debug/anneal}"
