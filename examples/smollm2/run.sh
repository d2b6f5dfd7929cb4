#!/usr/bin/env bash
# run.sh [FOLDER]: post-trains SmolLM2-135M-Instruct on small arithmetic with BOLT, over the API that everyone uses.
# FOLDER (default: target/smollm2-run) takes the model, the data sets, the server's data directory and its log.
# $ANNEAL is the program (default: target/release/anneal).
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
anneal=${ANNEAL:-$root/target/release/anneal}
folder=${1:-$root/target/smollm2-run}
server=
base=
job_file=

fail() {
  echo "error: $*" >&2
  exit 1
}

# The value at a path of keys and positions in the JSON on standard input; nothing where it is missing or null.
field() {
  python3 -c '
import json, sys

value = json.load(sys.stdin)
for key in sys.argv[1:]:
    if isinstance(value, list):
        value = value[int(key)] if int(key) < len(value) else None
    else:
        value = value.get(key) if isinstance(value, dict) else None
print("" if value is None else value)
' "$@"
}

api() {
  curl --silent --show-error --fail-with-body --max-time 60 "$@"
}

# A job that we leave unfinished would be taken up again by the next run on the same folder.
clean_up() {
  local status=$?
  trap - EXIT
  if [ -n "$base" ] && [ -s "$job_file" ]; then
    curl --silent --output /dev/null --max-time 5 --request POST "$base/v1/jobs/$(head -n 1 "$job_file")/cancel" || true
  fi
  stop_server
  exit "$status"
}

stop_server() {
  [ -n "$server" ] || return 0
  kill "$server" 2>/dev/null || true
  wait "$server" || true
  server=
}

trap clean_up EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

for tool in python3 curl; do
  command -v "$tool" >/dev/null || fail "$tool is needed"
done
[ -x "$anneal" ] || fail "$anneal is not there; build it with: cargo build --release"
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
data=$folder/data
log=$folder/server.log
job_file=$folder/job
: >"$log"
: >"$job_file"

echo "== model"
gguf=$("$here/get_model.sh" "$folder/model" | head -n 1)
"$anneal" models import --data-dir "$data" --name SmolLM2-135M-Instruct "$gguf" | tee "$folder/import"
model=$(head -n 1 "$folder/import")

echo "== server"
# Port 0 is any free one; the server prints which.
# In a process group of its own Ctrl-C does not reach it, so that it still answers when clean_up cancels the job.
set -m
"$anneal" serve --data-dir "$data" --listen 127.0.0.1:0 >"$log" 2>&1 &
server=$!
set +m
for _ in $(seq 300); do
  base=$(sed -n 's|^anneal serves \(http://[^ ]*\).*|\1|p' "$log")
  [ -z "$base" ] || break
  kill -0 "$server" 2>/dev/null || fail "the server ended; see $log"
  sleep 0.1
done
[ -n "$base" ] || fail "the server does not start; see $log"
echo "$base"

echo "== data sets"
python3 "$here/prompts.py" "$folder"
upload() {
  local answer
  answer=$(api --header 'content-type: application/jsonl' --data-binary "@$folder/$1.jsonl" \
    "$base/v1/datasets?name=smollm2-$1") || fail "$1.jsonl was refused: $answer"
  field id <<<"$answer"
}
train=$(upload train)
held_out=$(upload eval)
echo "train $train"
echo "eval  $held_out"

echo "== job"
python3 - "$here/spec.json" "$model" "$train" "$held_out" >"$folder/spec.json" <<'PY'
import json, sys

path, model, train, held_out = sys.argv[1:]
with open(path, encoding="utf-8") as file:
    spec = json.load(file)
spec["model"] = model
spec["dataset"]["train"] = train
spec["dataset"]["eval"] = held_out
json.dump(spec, sys.stdout, indent=2)
PY
began=$(date +%s)
"$anneal" run "$folder/spec.json" --wait --server "$base" >"$job_file"
seconds=$(($(date +%s) - began))
job=$(head -n 1 "$job_file")
: >"$job_file"

echo "== result of $job"
api "$base/v1/jobs/$job" >"$folder/result.json"
pid=$(api "$base/v1/devices" | field data 0 pid)
memory=$(awk '/^VmHWM:/ { printf "%.2f GiB", $2 / 1048576 }' "/proc/$pid/status" 2>/dev/null || true)
python3 - "$folder/result.json" "$seconds" "${memory:-unknown}" <<'PY'
import json, sys

path, seconds, memory = sys.argv[1:]
with open(path, encoding="utf-8") as file:
    job = json.load(file)
result = job["result"]


def interval(evaluation, at):
    row = evaluation["pass_at"][at]
    return f"{row['mean']:.3f} ± {row['half_width']:.3f}"


print(f"{'':11}  {'before':>15}  {'after':>15}")
for at, row in enumerate(result["after"]["pass_at"]):
    name = f"pass@{row['k']}"
    print(f"{name:11}  {interval(result['before'], at):>15}  {interval(result['after'], at):>15}")
print(f"{'wall time':11}  {int(seconds) // 60} min {int(seconds) % 60} s")
# The largest memory of the process that runs the jobs; a job that lost a worker has run in more than one.
print(f"{'peak memory':11}  {memory}" + (f" (last of {job['attempt']} attempts)" if job["attempt"] > 1 else ""))
print(f"{'checkpoint':11}  {result['checkpoint']}")
PY
stop_server
echo "model, data sets and checkpoints stay in $folder"
