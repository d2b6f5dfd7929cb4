#!/usr/bin/env bash
# packages.sh NAME...: installs packages of Debian's, with options of `apt-get install` among them. Scripts that run at once
# wait for one another here, where apt would fail.
set -euo pipefail
[ $# -gt 0 ] || { sed -n '2,3s/^# //p' "$0" >&2; exit 2; }
exec 9>"${TMPDIR:-/tmp}/anneal-packages.lock"
flock 9
{ apt-get update -qq && apt-get install -y -qq "$@"; } >/dev/null 9>&-
