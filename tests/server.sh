# shellcheck shell=bash
# Sourced by scripts that test a server: $data is a folder that goes when the shell ends, $ANNEAL is the program,
# target/debug/anneal unless it says another, and `serve ARGUMENT...` starts it on a data directory in $data and sets $base
# to its address.
export ANNEAL="${ANNEAL:-target/debug/anneal}"
data=$(mktemp -d)
server=
export base=

finish() {
  if [ -n "$server" ]; then
    kill "$server" 2>/dev/null || true
    wait "$server" 2>/dev/null || true
  fi
  rm -rf "$data"
}
trap finish EXIT

serve() {
  "$ANNEAL" serve --listen 127.0.0.1:0 --devices cpu --log error --data-dir "$data/data" "$@" \
    > "$data/out" 2> "$data/err" &
  server=$!
  for _ in $(seq 200); do
    base=$(grep -o 'http://[0-9.]*:[0-9]*' "$data/out" | head -1) && return
    sleep 0.1
  done
  echo "the server did not start: $(cat "$data/err")"
  exit 1
}
