#!/usr/bin/env bash
# Tests the Dockerfile on a machine without a container engine. See --help.
set -euo pipefail

usage() {
  cat <<'END'
Usage: scripts/check_image.sh [--target cpu|cuda] [--binary FILE] [--base FOLDER] [--full]

Makes a plain Debian system with debootstrap in a temporary folder, does there what the Dockerfile's stages say, and
runs the result as a container would: as the image's user, as process 1 of a process namespace, with a network of its
own, on a read-only system with a writable volume. Then it asks the image's health check, sends SIGTERM, and wants
exit code 0.

  --target NAME    which image                                            [default: cpu]
  --binary FILE    the program that the build stage would have made       [default: target/release or target/debug]
  --base FOLDER    keep Debian's base system here and take it from here the next time
  --full           run the build stage too, with this machine's Rust toolchain; takes as long as a release build

Needs root, Linux, debootstrap, python3, unshare and nsenter of util-linux, and ip. Debian's packages come from where
the system's own apt gets them, or from $DEBIAN_MIRROR. Everything is mounted in a namespace of its own.
END
}

die() {
  printf 'check_image.sh: %s\n' "$*" >&2
  exit 1
}

say() { printf '\n-- %s\n' "$*"; }

PATH_INSIDE=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

# ---- the base system ----

# Prints `deb` lines for a release, from where this system gets it.
sources_of() {
  if [ -n "${DEBIAN_MIRROR:-}" ]; then
    printf 'deb %s %s main\n' "$DEBIAN_MIRROR" "$1"
    return
  fi
  # shellcheck disable=SC2016 # apt fills these in
  apt-get indextargets --format '$(CREATED_BY) $(REPO_URI) $(RELEASE) $(COMPONENT)' |
    awk -v release="$1" '$1 == "Packages" && $4 == "main" && ($3 == release || index($3, release "-") == 1) {
      print "deb", $2, $3, $4 }' | sort -u
}

# Makes Debian's base system in folder $2, unless it is there.
make_base() {
  local release=$1 folder=$2 lines mirror
  if [ -f "$folder/etc/anneal-base" ]; then
    [ "$(cat "$folder/etc/anneal-base")" = "$release" ] || die "$folder is another release; remove it"
    return
  fi
  [ ! -e "$folder" ] || die "$folder exists and is no base system of this script"
  lines=$(sources_of "$release")
  mirror=$(awk -v release="$release" '$3 == release { print $2; exit }' <<<"$lines")
  [ -n "$mirror" ] || die "apt here knows no mirror of $release; run apt-get update, or set DEBIAN_MIRROR"
  say "debootstrap $release"
  rm -rf --one-file-system "$folder.partial"
  debootstrap --variant=minbase "$release" "$folder.partial" "$mirror" >"$work/debootstrap.log" 2>&1 ||
    { tail -n 20 "$work/debootstrap.log" >&2 && die "debootstrap failed"; }
  printf '%s\n' "$lines" >"$folder.partial/etc/apt/sources.list"
  apt-config dump | grep -E '^Acquire::(http|https)::' >"$folder.partial/etc/apt/apt.conf.d/99host" || true
  printf '%s\n' "$release" >"$folder.partial/etc/anneal-base"
  mv -T "$folder.partial" "$folder"
}

# ---- the stages; scripts/dockerfile.py prints calls of the functions below ----

outer=         # the process that waits for the server
current=       # the stage
build=false    # whether it is one that compiles
declare -A root_of

inside() {
  local root=${root_of[$current]} user environment
  user=$(cat "$work/$current.user")
  mapfile -t environment <"$work/$current.env"
  chroot --userspec="$user" --groups="${user#*:}" "$root" env -i "PATH=$PATH_INSIDE" "${environment[@]}" "$@"
}

# Runs a command in a stage with what this machine needs to reach its package indexes.
inside_with_network() {
  local passed=() name
  for name in $(compgen -e | grep -E '^(PIP_|CARGO_(HTTP|NET|REGISTRIES|SOURCE)|[a-zA-Z]+_(proxy|PROXY)$)' || true); do
    case $name in
      PIP_CERT | PIP_FIND_LINKS | PIP_CONFIG_FILE) ;;
      *) passed+=("$name=${!name}") ;;
    esac
  done
  if [ -f "${root_of[$current]}/tmp/host-ca.crt" ]; then
    for name in SSL_CERT_FILE PIP_CERT REQUESTS_CA_BUNDLE CURL_CA_BUNDLE CARGO_HTTP_CAINFO; do
      passed+=("$name=/tmp/host-ca.crt")
    done
  fi
  # Not for longer than the command: a folder with /proc in it must never be copied.
  local code=0 proc=${root_of[$current]}/proc
  mount -t proc proc "$proc"
  inside env DEBIAN_FRONTEND=noninteractive HOME=/root "${passed[@]}" "$@" || code=$?
  umount "$proc"
  return "$code"
}

stage() {
  current=$1
  build=false
  local base=$2 root=$work/stages/$1 release
  mkdir -p "$work/stages"
  root_of[$current]=$root
  if [ -n "${root_of[$base]:-}" ]; then
    cp -ax --reflink=auto "${root_of[$base]}" "$root"
    for part in env user workdir entrypoint cmd healthcheck volume; do
      cp "$work/$base.$part" "$work/$current.$part"
    done
    return
  fi
  case $base in
    debian:*) ;;
    rust:*) build=true ;;
    *) die "the image $base cannot be made here" ;;
  esac
  for part in env entrypoint cmd healthcheck volume; do : >"$work/$current.$part"; done
  printf '0:0\n' >"$work/$current.user"
  printf '/\n' >"$work/$current.workdir"
  if $build && ! $full; then
    mkdir -p "$root/out"
    install "$binary" "$root/out/anneal"
    return
  fi
  release=$(sed -E 's/.*:(.*-)?([a-z]+)$/\2/' <<<"${base/-slim/}")
  if $build; then release=${base##*-}; fi
  make_base "$release" "$base_folder-$release"
  cp -ax --reflink=auto "$base_folder-$release" "$root"
  cp -L /etc/resolv.conf /etc/hosts "$root/etc/" 2>/dev/null || true
  if [ -f /etc/pip.conf ]; then cp -L /etc/pip.conf "$root/etc/"; fi
  local bundle=${SSL_CERT_FILE:-${REQUESTS_CA_BUNDLE:-${PIP_CERT:-}}}
  if [ -n "$bundle" ]; then
    cp -L "$bundle" "$root/tmp/host-ca.crt"
    printf 'Acquire::https::CaInfo "/tmp/host-ca.crt";\n' >>"$root/etc/apt/apt.conf.d/99host"
  fi
  if $build; then add_toolchain "$base"; fi
}

# What an image with Rust has beyond Debian, from this machine's toolchain.
add_toolchain() {
  local root=${root_of[$current]} wanted=${1#rust:}
  rustc --version | grep -q " ${wanted%%-*}\." || say "note: the image has Rust ${wanted%%-*}, here is $(rustc --version)"
  inside_with_network sh -c 'apt-get update -qq && apt-get install -qq -y --no-install-recommends ca-certificates gcc libc6-dev' \
    >"$work/toolchain.log" 2>&1 || die "gcc cannot be installed: $(tail -n 3 "$work/toolchain.log")"
  mkdir -p "$root/usr/local/rust" "$root/usr/local/cargo"
  mount --bind --read-only "$(rustc --print sysroot)" "$root/usr/local/rust"
  printf 'PATH=/usr/local/rust/bin:%s\nCARGO_HOME=/usr/local/cargo\n' "$PATH_INSIDE" >>"$work/$current.env"
}

skipped() { $build && ! $full; }

step_run() {
  if skipped; then return; fi
  say "$current: RUN $(tr -s ' ' <<<"$1" | cut -c1-100)"
  # shellcheck disable=SC2016 # the inner shell's arguments
  inside_with_network sh -c 'cd "$0" && eval "$1"' "$(cat "$work/$current.workdir")" "$1" >"$work/run.log" 2>&1 ||
    { tail -n 30 "$work/run.log" >&2 && die "this RUN of the stage $current failed"; }
}

step_copy() {
  if skipped; then return; fi
  local from=$1 sources=("${@:2:$#-2}") to=${!#} root=${root_of[$current]} source
  case $to in
    /*) ;;
    *) to=$(cat "$work/$current.workdir")/$to ;;
  esac
  if [ -z "$from" ] && [ "${sources[*]}" = . ]; then
    mkdir -p "$root$to"
    tar --create --files-from "$work/context" | tar --extract --directory "$root$to"
    return
  fi
  case $to in
    */) mkdir -p "$root$to" ;;
    *) mkdir -p "$(dirname "$root$to")" ;;
  esac
  for source in "${sources[@]}"; do
    if [ -z "$from" ]; then
      grep -qxF "$source" "$work/context" || die "COPY $source: .dockerignore leaves it out"
      cp -ax "$source" "$root$to"
    elif [ -d "${root_of[$from]}$source" ]; then
      cp -ax "${root_of[$from]}${source%/}/." "$root$to"
    else
      cp -ax "${root_of[$from]}$source" "$root$to"
    fi
  done
}

step_env() { printf '%s=%s\n' "$1" "$2" >>"$work/$current.env"; }

step_workdir() {
  printf '%s\n' "$1" >"$work/$current.workdir"
  mkdir -p "${root_of[$current]}$1"
}

step_user() { printf '%s\n' "$1" >"$work/$current.user"; }
step_volume() { printf '%s\n' "$1" >"$work/$current.volume"; }
step_entrypoint() { printf '%s\n' "$@" >"$work/$current.entrypoint"; }
step_cmd() { printf '%s\n' "$@" >"$work/$current.cmd"; }
step_healthcheck() { printf '%s\n' "$@" >"$work/$current.healthcheck"; }
step_expose() { :; }
step_stopsignal() { [ "$1" = SIGTERM ] || die "this script stops with SIGTERM, the image with $1"; }

# ---- the image as a container ----

finish() {
  local root=${root_of[$current]} volume user
  volume=$(cat "$work/$current.volume")
  user=$(cat "$work/$current.user")
  rm -f "$root/tmp/host-ca.crt"
  [ "${user%%:*}" -ge 1000 ] 2>/dev/null || die "the image does not end with a plain user's number but with $user"
  mapfile -t command < <(cat "$work/$current.entrypoint" "$work/$current.cmd")
  mapfile -t health <"$work/$current.healthcheck"

  say "$target: $(inside "${command[0]}" --version)"
  case $(inside "${command[0]}" --version) in
    *", $target,"*) ;;
    *) say "note: this program is not the one of a $target build" ;;
  esac

  # A new volume has the owner and the contents of the image's folder.
  cp -ax "$root$volume" "$work/volume"
  mount --bind "$root" "$root"
  mount -o remount,bind,ro "$root"
  mount --bind "$work/volume" "$root$volume"

  say "the health check fails without a server"
  if unshare --net sh -c 'ip link set lo up && exec "$@"' sh "$0" --inside "$work" "$current" "$root" "${health[@]}" \
    >"$work/health.log" 2>&1; then
    die "nothing runs, and ${health[*]} says: $(cat "$work/health.log")"
  fi
  cat "$work/health.log"

  say "start: ${command[*]}"
  unshare --net --pid --fork --kill-child --mount-proc="$root/proc" sh -c 'ip link set lo up && exec "$@"' sh \
    "$0" --inside "$work" "$current" "$root" "${command[@]}" </dev/null >"$work/out.log" 2>"$work/err.log" &
  outer=$!
  local pid='' tries=0
  until [ -n "$pid" ] && nsenter --target "$pid" --net "$0" --inside "$work" "$current" "$root" "${health[@]}" \
    >"$work/health.log" 2>&1; do
    tries=$((tries + 1))
    [ "$tries" -lt 60 ] || die "not healthy after 30 seconds: $(cat "$work/health.log" "$work/out.log" "$work/err.log")"
    kill -0 "$outer" 2>/dev/null || die "it ended: $(cat "$work/out.log" "$work/err.log")"
    sleep 0.5
    pid=$(pgrep -P "$outer" || true)
  done
  cat "$work/health.log"
  local status=/proc/$pid/status
  [ "$(awk '/^NSpid:/ { print $NF }' "$status")" = 1 ] || die "the program is not process 1"
  [ "$(awk '/^Uid:/ { print $2 ":" $3 }' "$status")" = "${user%%:*}:${user%%:*}" ] || die "the program runs as another user"
  [ "$(awk '/^Groups:/ { $1 = ""; print }' "$status" | tr -d ' ')" = "${user#*:}" ] || die "it has more groups"
  pgrep -P "$pid" >/dev/null || die "the server has no worker"
  [ "$(stat -c %u "$work/volume/anneal.db")" = "${user%%:*}" ] || die "the database in the volume is another user's"

  say "SIGTERM"
  local began=$SECONDS code=0
  kill -TERM "$pid"
  wait "$outer" || code=$?
  outer=
  [ "$code" = 0 ] || die "it ended with $code: $(cat "$work/err.log")"
  say "$target: ended with 0 after $((SECONDS - began)) s; the image is fine"
}

# Runs a command in a finished stage; called by unshare and nsenter through this script.
if [ "${1:-}" = --inside ]; then
  work=$2 current=$3
  root_of[$current]=$4
  shift 4
  user=$(cat "$work/$current.user")
  mapfile -t environment <"$work/$current.env"
  # shellcheck disable=SC2016 # the inner shell's arguments
  exec chroot --userspec="$user" --groups="${user#*:}" "${root_of[$current]}" env -i "PATH=$PATH_INSIDE" \
    "${environment[@]}" sh -c 'cd "$0" && exec "$@"' "$(cat "$work/$current.workdir")" "$@"
fi

# ---- arguments ----

target=cpu
binary=
base_folder=
full=false
arguments=("$@")
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) usage && exit 0 ;;
    --target) target=${2:?--target needs a name} && shift ;;
    --binary) binary=$(realpath "${2:?--binary needs a file}") && shift ;;
    --base) base_folder=$(realpath -m "${2:?--base needs a folder}") && shift ;;
    --full) full=true ;;
    *) die "there is no option $1; see --help" ;;
  esac
  shift
done

[ "$(id -u)" = 0 ] || die "only root can change roots and mount"
for tool in debootstrap python3 unshare nsenter ip; do
  command -v "$tool" >/dev/null || die "$tool is missing"
done
if [ -z "${CHECK_IMAGE_NAMESPACE:-}" ]; then
  # Mounts of this script are its own, and gone when it ends, however it does.
  CHECK_IMAGE_NAMESPACE=1 exec unshare --mount --propagation private "$(realpath "$0")" "${arguments[@]}"
fi
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if [ -z "$binary" ] && ! $full; then
  for binary in target/release/anneal target/debug/anneal ''; do
    if [ -x "$binary" ]; then break; fi
  done
  [ -n "$binary" ] || die "there is no program yet: cargo build, or --binary FILE, or --full"
fi

work=$(mktemp -d)
clean() {
  # The server goes with it.
  if [ -n "$outer" ]; then pkill -KILL -P "$outer" || true; fi
  # A folder that is still a mount must not be emptied.
  findmnt -rn -o TARGET | { grep "^$work/" || true; } | sort -r | xargs -r umount -l
  rm -rf --one-file-system "$work"
}
trap clean EXIT
base_folder=${base_folder:-$work/base}
python3 scripts/dockerfile.py --context . >"$work/context"
python3 scripts/dockerfile.py Dockerfile "$target" >"$work/steps"
# shellcheck disable=SC1091 # made above
. "$work/steps"
