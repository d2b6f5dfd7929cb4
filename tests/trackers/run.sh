#!/usr/bin/env bash
# What trackers of other projects make of jobs, unmodified: TensorBoard reads the files that `anneal jobs tensorboard` writes and the one that
# the server gives, and MLflow's client reads experiments, runs, histories and files. Runs target/debug/anneal, or $ANNEAL.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
venv=target/trackers
if [ ! -e "$venv/installed" ]; then
  python3 -m venv "$venv"
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check tensorboard==2.21.0 setuptools==80.9.0 \
    mlflow-skinny==3.17.2 requests
  touch "$venv/installed"
fi
# shellcheck source=tests/server.sh
source tests/server.sh
serve "$@"
"$venv/bin/python" tests/trackers/script.py "$base" "$ANNEAL"
MLFLOW_DISABLE_TELEMETRY=true MLFLOW_TRACKING_URI=$base "$venv/bin/python" tests/trackers/mlflow_client.py "$base"
