#!/usr/bin/env bash
# Says of a program that was built from this checkout what it consists of and how it was made:
#
#   scripts/provenance.sh [PROGRAM] [FOLDER]      target/release/anneal and target/provenance, unless said otherwise
#
# writes FOLDER/anneal.cdx.json, a bill of materials (CycloneDX, every crate with its version, digest and licence), and
# FOLDER/anneal.provenance.json, a statement (in-toto, predicate SLSA provenance 1.0) that names the program by its SHA-256,
# the commit, whether the checkout had changes, and the compiler. Neither is signed: sign them with the key of whoever
# publishes the program. Needs git, jq and a Rust toolchain; installs cargo-cyclonedx into target/tools.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
program=${1:-target/release/anneal}
folder=${2:-target/provenance}
[ -x "$program" ] || { echo "there is no program $program; build it first: cargo build --locked --release" >&2; exit 1; }
mkdir -p "$folder"
version=$("$program" --version)
commit=$(git rev-parse HEAD)
case $version in
  *"${commit:0:12}"*) ;;
  *) echo "$program says \"$version\", and this checkout is ${commit:0:12}: build it anew" >&2; exit 1 ;;
esac
features=()
case $version in *cuda*) features=(--features "cuda,nccl") ;; esac
trap 'rm -f bill.tmp.json' EXIT

cargo install --locked --debug --quiet --root target/tools cargo-cyclonedx@0.5.7
PATH=$PWD/target/tools/bin:$PATH cargo cyclonedx --quiet --format json --spec-version 1.5 --override-filename bill.tmp \
  "${features[@]}"
mv bill.tmp.json "$folder/anneal.cdx.json"

digest() { sha256sum "$1" | cut -d' ' -f1; }
changed=$(git status --porcelain --untracked-files=no | wc -l)
jq -n --arg program "$(basename "$program")" --arg sha256 "$(digest "$program")" --arg commit "$commit" \
  --argjson changed "$((changed > 0))" --arg lock "$(digest Cargo.lock)" --arg bill "$(digest "$folder/anneal.cdx.json")" \
  --arg rustc "$(rustc --version)" --arg version "$version" --arg at "$(date -u +%FT%TZ)" '{
    _type: "https://in-toto.io/Statement/v1",
    subject: [{name: $program, digest: {sha256: $sha256}}],
    predicateType: "https://slsa.dev/provenance/v1",
    predicate: {
      buildDefinition: {
        buildType: "urn:anneal:cargo-build-release:1",
        externalParameters: {version: $version},
        internalParameters: {rustc: $rustc, changed: ($changed == 1)},
        resolvedDependencies: [
          {name: "source", digest: {gitCommit: $commit}},
          {name: "Cargo.lock", digest: {sha256: $lock}}
        ]
      },
      runDetails: {
        builder: {id: "urn:anneal:this-machine"},
        metadata: {finishedOn: $at},
        byproducts: [{name: "anneal.cdx.json", digest: {sha256: $bill}}]
      }
    }
  }' > "$folder/anneal.provenance.json.tmp"
mv "$folder/anneal.provenance.json.tmp" "$folder/anneal.provenance.json"
echo "$folder/anneal.cdx.json: $(jq '.components | length' "$folder/anneal.cdx.json") components"
echo "$folder/anneal.provenance.json: $(digest "$program")  $program"
