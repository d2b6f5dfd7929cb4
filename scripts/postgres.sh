#!/usr/bin/env bash
# postgres.sh COMMAND...: runs a command beside a PostgreSQL of its own, whose address it finds in ANNEAL_TEST_POSTGRES. Of
# Debian's package, which root installs where it is missing; the server ends with the command and leaves nothing.
set -euo pipefail
[ $# -gt 0 ] || { sed -n '2,3s/^# //p' "$0" >&2; exit 2; }

programs=$(echo /usr/lib/postgresql/*/bin)
if [ ! -d "${programs##* }" ]; then
  "$(dirname "${BASH_SOURCE[0]}")/packages.sh" --no-install-recommends postgresql
  programs=$(echo /usr/lib/postgresql/*/bin)
fi
programs=${programs##* }

# The server runs as nobody's superuser.
folder=$(mktemp -d)
as=()
if [ "$(id -u)" -eq 0 ]; then
  chown postgres "$folder"
  as=(setpriv --reuid postgres --regid postgres --clear-groups)
fi
stop() {
  "${as[@]}" "$programs/pg_ctl" -D "$folder/data" -m immediate -w stop >/dev/null || true
  rm -rf "$folder"
}
trap stop EXIT
cd "$folder"
"${as[@]}" "$programs/initdb" -D "$folder/data" -U anneal -A trust --locale=C -E UTF8 --no-sync >/dev/null
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
"${as[@]}" "$programs/pg_ctl" -D "$folder/data" -l "$folder/log" -w -t 60 \
  -o "-p $port -c listen_addresses=127.0.0.1 -k $folder -c fsync=off -c max_connections=400" start >/dev/null
cd "$OLDPWD"
# What bash -c makes of this with `stop`, `kill` or `start`, for tests of what happens without it.
export ANNEAL_TEST_POSTGRES_CONTROL="cd $folder; case \$1 in
  kill) kill -9 \$(head -1 data/postmaster.pid); sleep 1 ;;
  stop) ${as[*]} $programs/pg_ctl -D $folder/data -m immediate -w stop >/dev/null ;;
  start) for i in 1 2 3 4 5; do ${as[*]} $programs/pg_ctl -D $folder/data -l $folder/log -w -t 60 -o '-p $port \
    -c listen_addresses=127.0.0.1 -k $folder -c fsync=off -c max_connections=400' start >/dev/null && exit; sleep 1; done; false ;;
esac"
ANNEAL_TEST_POSTGRES=postgres://anneal@127.0.0.1:$port/postgres PATH="$programs:$PATH" "$@"
