#!/usr/bin/env bash
# What trackers of other projects make of jobs, unmodified: TensorBoard reads the files that `anneal jobs tensorboard` writes and the one that
# the server gives, MLflow's client reads experiments, runs, histories and files, Trackio imports metrics, and pandas reads tables in
# Parquet. Runs target/debug/anneal, or $ANNEAL.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
venv=target/trackers
if ! cmp -s tests/trackers/run.sh "$venv/installed"; then
  python3 -m venv "$venv"
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check tensorboard==2.21.0 setuptools==80.9.0 \
    mlflow-skinny==3.17.2 requests trackio==0.43.0 pandas==3.1.1 pyarrow==26.0.1
  cp tests/trackers/run.sh "$venv/installed"
fi
# shellcheck source=tests/server.sh
source tests/server.sh
serve "$@"
"$venv/bin/python" tests/trackers/script.py "$base" "$ANNEAL"
MLFLOW_DISABLE_TELEMETRY=true MLFLOW_TRACKING_URI=$base "$venv/bin/python" tests/trackers/mlflow_client.py "$base"
"$venv/bin/python" tests/trackers/tables.py "$base"
