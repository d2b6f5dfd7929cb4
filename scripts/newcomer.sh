#!/usr/bin/env bash
# newcomer.sh PROGRAM: does what docs/agents.md, docs/schedulers.md and docs/cluster.md tell a newcomer to try on one machine,
# each in a folder of its own and with its commands as they stand there. Needs root, and the ports 8080 to 8082.
set -euo pipefail
[ $# -eq 1 ] || { sed -n '2,3s/^# //p' "$0" >&2; exit 2; }
cd "$(dirname "${BASH_SOURCE[0]}")/.."
PATH=$(cd "$(dirname "$1")" && pwd):$PATH
export PATH

# The block of commands of a page that has a text in it.
block() { # PAGE TEXT
  python3 - "$1" "$2" <<'PY'
import re, sys
blocks = re.findall(r"^```sh\n(.*?)^```$", open(sys.argv[1]).read(), re.M | re.S)
found = [block for block in blocks if sys.argv[2] in block]
assert len(found) == 1, f"{sys.argv[1]} has {len(found)} blocks with `{sys.argv[2]}`"
print(found[0], end="")
PY
}

# A shell that a block opens first has the rest of it as its commands.
walk() { # PAGE TEXT EXPECTED
  local folder commands first within=() output
  folder=$(mktemp -d)
  commands=$(block "$1" "$2")
  first=$(head -1 <<<"$commands")
  if [[ $first == scripts/*' bash' ]]; then
    within=("$PWD/${first% bash}")
    commands=$(tail -n +2 <<<"$commands")
  fi
  ln -s "$PWD/examples" "$folder/examples"
  # What goes on in the background ends with the shell.
  output=$(cd "$folder" && "${within[@]}" bash -c "set -euo pipefail
trap 'jobs -p | xargs -r kill; wait' EXIT
$commands" 2>&1) || { echo "$output"; echo "the block of $1 failed" >&2; return 1; }
  rm -rf "$folder"
  grep -q "$3" <<<"$output" || { echo "$output"; echo "$1: nothing says \`$3\`" >&2; return 1; }
  echo "$1: its commands work"
}

walk docs/agents.md 'worker --server http://127.0.0.1:8080 --host-name box-2' 'box-2 *agent *ready'
walk docs/schedulers.md 'scripts/slurm.sh bash' 'Slurm says COMPLETED\|running'
walk docs/cluster.md 'scripts/cluster.sh bash' 'two *server *ready'
