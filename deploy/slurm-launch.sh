#!/bin/bash
# What `anneal serve` gives to sbatch for a machine: an agent that takes one job, and ends. A copy of it can be changed and
# named in the settings (`script` of `[launchers.slurm]`), to load modules, to enter a container, or to keep copies of models
# on a disk of the node (ANNEAL_AGENT_DIR). Resources are asked for by options, before `#SBATCH` lines.
set -euo pipefail
umask 077

if [ -n "${ANNEAL_AGENT_DIR:-}" ]; then
  folder=$ANNEAL_AGENT_DIR
  mkdir -p "$folder"
  trap 'rm -f "$folder/token-$ANNEAL_LAUNCH"' EXIT
else
  folder=$(mktemp -d "${TMPDIR:-/tmp}/anneal.XXXXXX")
  trap 'rm -rf "$folder"' EXIT
fi

access=()
if [ -n "${ANNEAL_AGENT_TOKEN:-}" ]; then
  printf '%s\n' "$ANNEAL_AGENT_TOKEN" >"$folder/token-$ANNEAL_LAUNCH"
  access=(--token-file "$folder/token-$ANNEAL_LAUNCH")
  unset ANNEAL_AGENT_TOKEN
fi

# Where Slurm does not hide the GPUs of others, it says which ones are this job's.
visible=${CUDA_VISIBLE_DEVICES:-}
if [ "$ANNEAL_AGENT_DEVICES" = all ] && [[ $visible =~ ^[0-9]+(,[0-9]+)*$ ]]; then
  ANNEAL_AGENT_DEVICES=$visible
fi

"$ANNEAL_PROGRAM" worker --server "$ANNEAL_AGENT_SERVER" "${access[@]}" --host-name "$ANNEAL_LAUNCH" \
  --pool "$ANNEAL_LAUNCHER" --devices "$ANNEAL_AGENT_DEVICES" --data-dir "$folder" \
  --once --idle-exit "$ANNEAL_AGENT_IDLE" &
agent=$!
# Slurm tells the script before its time is over; the agent saves its jobs, and they go on on the next machine.
trap 'kill -TERM "$agent" 2>/dev/null || true' TERM INT
while :; do
  code=0
  wait "$agent" || code=$?
  kill -0 "$agent" 2>/dev/null || break
done
exit "$code"
