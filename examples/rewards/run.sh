#!/usr/bin/env bash
# run.sh math GSM8K.jsonl | code [FOLDER]: trains SmolLM2-135M-Instruct with rewards from the `math` verifier on rows of
# GSM8K, or from the `code` verifier on small functions with tests, and shows completions that got one.
# FOLDER (default: target/rewards) takes the model, the server's data directory and its log.
# $ANNEAL is the program (default: target/release/anneal). `code` needs bubblewrap and a server that enables programs.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
anneal=${ANNEAL:-$root/target/release/anneal}
usage() {
  echo "usage: run.sh math GSM8K.jsonl [FOLDER] | run.sh code [FOLDER]" >&2
  exit 2
}
case ${1:-} in
  math) rows=${2:-} folder=${3:-$root/target/rewards} settings="" columns=() ;;
  code) rows=$here/functions.jsonl folder=${2:-$root/target/rewards} settings=$here/code.toml columns=(--prompt-column text) ;;
  *) usage ;;
esac
kind=$1
[ -f "$rows" ] || usage
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
log=$folder/server.log
server=
trap '[ -z "$server" ] || { kill "$server" 2>/dev/null; wait "$server" || true; }' EXIT

echo "== server and model"
gguf=$("$root/examples/smollm2/get_model.sh" "$folder/model" | head -n 1)
model=$("$anneal" models import --data-dir "$folder/data" --name SmolLM2-135M-Instruct "$gguf" | head -n 1)
"$anneal" serve ${settings:+--config "$settings"} --data-dir "$folder/data" --listen 127.0.0.1:0 >"$log" 2>&1 &
server=$!
base=
for _ in $(seq 300); do
  base=$(sed -n 's|^anneal serves \(http://[^ ]*\).*|\1|p' "$log")
  [ -z "$base" ] || break
  kill -0 "$server" 2>/dev/null || { echo "the server ended; see $log" >&2; exit 1; }
  sleep 0.1
done
export ANNEAL_SERVER=$base

echo "== data set"
dataset=$("$anneal" datasets upload "$rows" "${columns[@]}" --name "rewards-$kind" | grep -o -m 1 'ds_[0-9a-f]*')

echo "== job"
sed "s/MODEL/$model/; s/DATASET/$dataset/" "$here/$kind.json" >"$folder/$kind.json"
job=$("$anneal" run "$folder/$kind.json" --wait | head -n 1)

echo "== completions of $job that got a reward"
curl --silent --fail "$base/v1/jobs/$job/rollouts?limit=100&light=true&min_reward=0.01" |
  python3 -c '
import json, sys

rewarded = json.load(sys.stdin)["data"]
for rollout in rewarded[:5]:
    print("%.2f  %s" % (rollout["reward"], rollout["detail"]))
sys.exit(0 if rewarded else "no completion got a reward")'
