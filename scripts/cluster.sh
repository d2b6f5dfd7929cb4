#!/usr/bin/env bash
# cluster.sh COMMAND...: runs a command beside a PostgreSQL, an object storage, a library that sets clocks wrong and a proxy
# that it can start, as tests/cluster.rs needs them.
set -euo pipefail
[ $# -gt 0 ] || { sed -n '2,3s/^# //p' "$0" >&2; exit 2; }
cd "$(dirname "${BASH_SOURCE[0]}")"

library=$(echo /usr/lib/*/faketime/libfaketimeMT.so.1)
if [ ! -e "$library" ] || ! command -v haproxy >/dev/null; then
  ./packages.sh --no-install-recommends libfaketime haproxy
  library=$(echo /usr/lib/*/faketime/libfaketimeMT.so.1)
fi
here=$PWD
cd "$OLDPWD"
ANNEAL_TEST_FAKETIME=$library "$here/postgres.sh" "$here/seaweedfs.sh" "$@"
