# What generate.sh and test.sh run, installed once into target/clients; to be sourced from the root of the repository.
# shellcheck shell=bash

tools=$PWD/target/clients
node=$tools/node
python=$tools/python
mkdir -p "$tools"

# The TypeScript client's own packages, as its lockfile names them.
node_tools() {
  cmp -s clients/typescript/package-lock.json "$node/package-lock.json" && [ -e "$node/installed" ] && return
  rm -rf "$node"
  mkdir -p "$node"
  cp clients/typescript/{package.json,package-lock.json,.npmrc} "$node"
  (cd "$node" && npm ci --silent --no-audit --no-fund --ignore-scripts)
  touch "$node/installed"
}

python_tools() {
  cmp -s clients/python/requirements.txt "$python/requirements.txt" && return
  rm -rf "$python"
  python3 -m venv "$python"
  "$python/bin/python" -m pip install --quiet --disable-pip-version-check --requirement clients/python/requirements.txt
  cp clients/python/requirements.txt "$python/requirements.txt"
}
