#!/usr/bin/env bash
# cluster.sh COMMAND...: runs a command beside a PostgreSQL, an object storage and a library that sets clocks wrong, as
# tests/cluster.rs needs them.
set -euo pipefail
[ $# -gt 0 ] || { sed -n '2,3s/^# //p' "$0" >&2; exit 2; }
cd "$(dirname "${BASH_SOURCE[0]}")"

library=$(echo /usr/lib/*/faketime/libfaketimeMT.so.1)
if [ ! -e "$library" ]; then
  { apt-get update -qq && apt-get install -y -qq --no-install-recommends libfaketime; } >/dev/null
  library=$(echo /usr/lib/*/faketime/libfaketimeMT.so.1)
fi
here=$PWD
cd "$OLDPWD"
ANNEAL_TEST_FAKETIME=$library "$here/postgres.sh" "$here/seaweedfs.sh" "$@"
