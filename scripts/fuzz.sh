#!/usr/bin/env bash
# Fuzzes a real server with cases that schemathesis makes from its OpenAPI document, once without keys and once with:
# no answer may be a 5xx, and every answer must be as the document says. With a key next to none may be refused for want
# of one.
#
#   scripts/fuzz.sh [CASES]     at least CASES cases (5000), below 3000 only with a key; the server is target/debug/anneal,
#                               or $ANNEAL_BIN
#
# Needs python3 with venv. The report of a failed run is in target/fuzz.
set -euo pipefail
cd "$(dirname "$0")/.."

cases=${1:-5000}
program=${ANNEAL_BIN:-target/debug/anneal}
work=target/fuzz
mkdir -p "$work"
if [ ! -x "$work/venv/bin/st" ]; then
  python3 -m venv "$work/venv"
  "$work/venv/bin/pip" install --quiet "schemathesis==4.32.5"
fi

data=$(mktemp -d)
stop() {
  [ -z "${server:-}" ] || { kill "$server" 2>/dev/null; wait "$server" 2>/dev/null; } || true
  rm -rf "$data"
}
trap stop EXIT

# Starts a server and sets `base`. The document's examples name a hub: whether it can be reached is not what is tried here.
start() {
  "$program" serve --hub-offline --listen 127.0.0.1:0 --log error --threads 1 --requests-per-minute 0 --data-dir "$data/$1" \
    > "$work/$1.out" 2> "$work/$1.err" &
  server=$!
  for _ in $(seq 200); do
    base=$(grep -o 'http://[^ ]*' "$work/$1.out" | head -1) && [ -n "$base" ] && return
    sleep 0.1
  done
  echo "the server did not start:"; cat "$work/$1.err"; exit 1
}

# One thread: hypothesis changes Python's recursion limit, and another that parses then ends with a SystemError (CPython 3.11).
# Fuzzes with some examples an operation; further arguments go to schemathesis. Adds to `total`.
fuzz() {
  local name=$1 examples=$2
  shift 2
  ANNEAL_FUZZ_ANSWERS=$work/$name.json "$work/venv/bin/st" --config-file scripts/fuzz/schemathesis.toml run "$base/openapi.json" \
    --phases "${phases:-examples,coverage,fuzzing}" --max-examples "$examples" --workers 1 --request-timeout 90 \
    --checks not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,response_schema_conformance \
    --generation-database none --suppress-health-check all --warnings off --continue-on-failure \
    "$@" > "$work/$name.log" 2>&1 || { tail -n 150 "$work/$name.log"; echo "scripts/fuzz.sh: $name failed, see $work/$name.log"; exit 1; }
  local made links
  made=$(grep -oE '[0-9,]+ generated' "$work/$name.log" | tail -1 | tr -dc 0-9)
  total=$((total + made))
  links=$(grep -oE '[0-9]+ covered / [0-9]+' "$work/$name.log" | tail -1) || true
  echo "$name: $made cases, no failure; answers by status $(tr -d '"{}' < "$work/$name.json")${links:+; links between operations: $links}"
}

# As `fuzz`, with the key, which must not have been lost on the way.
fuzz_with_key() {
  local name=$1
  fuzz "$name" "${2:-$examples}" --exclude-path-regex '^/v1/(chat/)?completions$' \
    --exclude-operation-id revoke_api_key --exclude-operation-id set_project -H "Authorization: Bearer $key"
  python3 - "$work/$name.json" <<'PYTHON'
import json, sys
answers = json.load(open(sys.argv[1]))
refused = answers.get("401", 0) + answers.get("429", 0)
if refused > 0.02 * sum(answers.values()):
    sys.exit(f"scripts/fuzz.sh: {refused} of {sum(answers.values())} requests were refused for want of a key or a limit")
PYTHON
}

total=0
operations=$("$program" openapi | python3 -c 'import json, sys
print(sum(len(item) for item in json.load(sys.stdin)["paths"].values()))')
examples=$((cases / operations / 2 + 1))

export SCHEMATHESIS_HOOKS=scripts/fuzz/hooks.py
# Completions need an idle device, and what the other cases submit keeps it busy.
start idle
fuzz completions "$examples" --include-path-regex '^/v1/(chat/)?completions$'
kill "$server"; wait "$server" || true
if [ "$cases" -ge 3000 ]; then
  start open
  # The first key would close the server.
  fuzz without-keys "$examples" --exclude-operation-id create_api_key --exclude-path-regex '^/v1/(chat/)?completions$'
  kill "$server"; wait "$server" || true
fi

key=$("$program" keys create fuzz --scopes read,write,admin,code --local --data-dir "$data/keyed")
start keyed
[ "$cases" -lt 3000 ] || fuzz wrong-key 1 -H "Authorization: Bearer ak_wrong"
fuzz_with_key with-keys
# Sequences of requests, each with what the ones before it made.
phases=stateful ANNEAL_FUZZ_EXAMPLES=1 fuzz_with_key linked $((cases / 50 + 1))
round=0
while [ "$total" -lt "$cases" ]; do
  round=$((round + 1))
  fuzz_with_key "with-keys-$round"
done
echo "$total cases over $operations operations: no 5xx, no answer that the document does not describe"
