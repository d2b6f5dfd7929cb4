#!/usr/bin/env bash
# The end-to-end tests of the three clients against a real server, and through a proxy that breaks their connections.
# Runs target/debug/anneal, or $ANNEAL. Names of clients as arguments run only those.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
anneal=${ANNEAL:-target/debug/anneal}
source clients/tools.sh
scratch=$(mktemp -d)
pids=()
finish() {
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait
  rm -rf "$scratch"
}
trap finish EXIT

# Prints the address that the first line of a program's output names, once there is one.
address() {
  for _ in $(seq 300); do
    if grep -q 'http://' "$1"; then
      sed -n 's|.*\(http://[0-9.]*:[0-9]*\).*|\1|p; q' "$1"
      return
    fi
    sleep 0.1
  done
  echo "nothing came up: $(cat "$1" "$1.err")" >&2
  return 1
}

"$anneal" serve --listen 127.0.0.1:0 --data-dir "$scratch/data" --log warn >"$scratch/server" 2>"$scratch/server.err" &
pids+=($!)
ANNEAL_URL=$(address "$scratch/server")
python3 clients/cutting_proxy.py "$ANNEAL_URL" >"$scratch/proxy" 2>"$scratch/proxy.err" &
pids+=($!)
ANNEAL_CUT_URL=$(address "$scratch/proxy")
export ANNEAL_URL ANNEAL_CUT_URL

typescript() {
  node_tools
  rm -rf "$tools/typescript"
  mkdir -p "$tools/typescript"
  cp -r clients/typescript/{package.json,tsconfig.json,src,test} "$tools/typescript"
  ln -s "$node/node_modules" "$tools/typescript/node_modules"
  (cd "$tools/typescript" && npm --silent run build && npm --silent test)
}

python() {
  python_tools
  PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=clients/python/src "$python/bin/python" -m unittest discover -s clients/python/tests
}

rust() {
  cargo test --quiet --locked --manifest-path clients/rust/Cargo.toml --package anneal-client --target-dir target/clients/rust
}

for client in "${@:-typescript python rust}"; do
  # shellcheck disable=SC2086
  for name in $client; do
    echo "-- $name"
    "$name"
  done
done
echo "every client has been through the life of a job"
