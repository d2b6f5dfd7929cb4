#!/usr/bin/env bash
# kubernetes.sh COMMAND...: runs a command beside a Kubernetes API server with the controllers of Jobs and a scheduler, but
# without nodes: whoever tests does what a node does. They are built once, from Debian's sources (1.20, about four minutes and
# 2 GB below target/kubernetes); etcd and kubectl are Debian's packages. The command finds what may do everything at
# ANNEAL_TEST_KUBERNETES and, with the rights of deploy/kubernetes alone, ANNEAL_TEST_KUBECONFIG; all ends with the command.
set -euo pipefail
[ $# -gt 0 ] || { sed -n '2,6s/^# //p' "$0" >&2; exit 2; }
own=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
kept=${CARGO_TARGET_DIR:-$own/target}/kubernetes

needs=()
command -v etcd >/dev/null || needs+=(etcd-server)
command -v kubectl >/dev/null || needs+=(kubernetes-client)
[ ${#needs[@]} -eq 0 ] ||
  "$own/scripts/packages.sh" --no-install-recommends "${needs[@]}"

build() {
  "$own/scripts/packages.sh" --no-install-recommends golang-go dpkg-dev
  local sources=/etc/apt/sources.list.d/anneal-sources.sources tree=$kept/go/src/k8s.io/kubernetes
  sed 's/^Types: deb$/Types: deb-src/' /etc/apt/sources.list.d/debian.sources >"$sources"
  apt-get update -qq
  rm -rf "$kept/go" && mkdir -p "$kept/go/src/k8s.io" "$kept/bin"
  (cd "$kept/go" && apt-get source -qq --only-source --download-only kubernetes && tar xzf kubernetes_*.orig.tar.gz)
  rm "$sources"
  mv "$kept"/go/kubernetes-*/ "$tree"
  cd "$tree"
  export GOPATH=$kept/go GOCACHE=$kept/cache GO111MODULE=off
  # The one file that its releases do not have: the schema of all objects, made of the sources.
  local roots packages
  roots=$(find pkg staging/src vendor/k8s.io -maxdepth 0 -type d)
  # shellcheck disable=SC2086 # They are words.
  packages=$(grep -l '+k8s:openapi-gen=' -rs $roots --include='*.go' | xargs -n1 dirname | sort -u |
    sed 's|^staging/src/|k8s.io/kubernetes/vendor/|; s|^pkg/|k8s.io/kubernetes/pkg/|; s|^vendor/|k8s.io/kubernetes/vendor/|')
  go run ./vendor/k8s.io/kube-openapi/cmd/openapi-gen -i "$(sort -u <<<"$packages" | paste -sd,)" \
    -p k8s.io/kubernetes/pkg/generated/openapi -O zz_generated.openapi -h hack/boilerplate/boilerplate.generatego.txt -r /dev/null
  go build -o "$kept/bin/" ./cmd/kube-apiserver ./cmd/kube-controller-manager ./cmd/kube-scheduler
  cd "$own"
}
[ -x "$kept/bin/kube-scheduler" ] || build >&2

folder=$(mktemp -d)
children=()
stop() {
  kill -KILL "${children[@]}" 2>/dev/null || true
  wait "${children[@]}" 2>/dev/null || true
  rm -rf "$folder"
}
trap stop EXIT
background() { "$@" >"$folder/$(basename "$1").log" 2>&1 & children+=($!); }
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
read -r store peer port proxy <<<"$(for _ in 1 2 3 4; do free_port; done | xargs)"

background etcd --data-dir "$folder/etcd" --listen-client-urls "http://127.0.0.1:$store" \
  --advertise-client-urls "http://127.0.0.1:$store" --listen-peer-urls "http://127.0.0.1:$peer" --unsafe-no-fsync=true
openssl genrsa -out "$folder/accounts.key" 2048 2>/dev/null
token() { head -c 16 /dev/urandom | od -An -tx1 | tr -d ' \n'; }
admin=$(token) server=$(token)
printf '%s,admin,1,system:masters\n%s,system:serviceaccount:anneal:anneal,2\n' "$admin" "$server" >"$folder/tokens"
background "$kept/bin/kube-apiserver" --etcd-servers "http://127.0.0.1:$store" --bind-address 127.0.0.1 --secure-port "$port" \
  --cert-dir "$folder/certificates" --authorization-mode RBAC --token-auth-file "$folder/tokens" --service-cluster-ip-range 10.0.0.0/24 \
  --service-account-key-file "$folder/accounts.key" --service-account-signing-key-file "$folder/accounts.key" \
  --service-account-issuer https://kubernetes.default.svc --disable-admission-plugins ServiceAccount
access() { # FILE TOKEN
  kubectl --kubeconfig "$1" config set-cluster it --server "https://127.0.0.1:$port" \
    --certificate-authority "$folder/certificates/apiserver.crt" >/dev/null
  kubectl --kubeconfig "$1" config set-credentials it --token "$2" >/dev/null
  kubectl --kubeconfig "$1" config set-context it --cluster it --user it --namespace anneal >/dev/null
  kubectl --kubeconfig "$1" config use-context it >/dev/null
}
access "$folder/admin" "$admin"
access "$folder/server" "$server"
for ((i = 0; ; i++)); do
  kubectl --kubeconfig "$folder/admin" get --raw /readyz >/dev/null 2>&1 && break
  [ "$i" -lt 120 ] || { echo "the API server did not start" >&2; tail -20 "$folder"/*.log >&2; exit 1; }
  sleep 0.5
done
background "$kept/bin/kube-controller-manager" --kubeconfig "$folder/admin" --port 0 --secure-port 0 --controllers job,ttl-after-finished,garbagecollector
background "$kept/bin/kube-scheduler" --kubeconfig "$folder/admin" --port 0 --secure-port 0
export KUBECONFIG=$folder/admin
kubectl create namespace anneal >/dev/null
kubectl apply -k "$own/deploy/kubernetes" >"$folder/applied"
background kubectl proxy --port "$proxy"
for ((i = 0; i < 60; i++)); do curl -sf "http://127.0.0.1:$proxy/readyz" >/dev/null && break; sleep 0.5; done
# The server of these manifests is not what is tested, and nothing here runs it.
kubectl delete deployment anneal >/dev/null
unset KUBECONFIG
ANNEAL_TEST_KUBERNETES=http://127.0.0.1:$proxy ANNEAL_TEST_KUBECONFIG=$folder/server "$@"
