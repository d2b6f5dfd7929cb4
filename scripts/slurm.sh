#!/usr/bin/env bash
# slurm.sh COMMAND...: runs a command beside a Slurm cluster of its own: a controller and two nodes with two CPUs each, every
# one in a network of its own on this machine (198.18.22.0/24). Debian's packages, which are installed where they are missing;
# the cluster ends with the command and leaves nothing. Needs root. The command finds SLURM_CONF, the address under which the
# nodes reach this machine (ANNEAL_TEST_SLURM), and what `bash -c "$ANNEAL_TEST_SLURM_CONTROL" - kill|start|cut|heal NAME` does
# to `control`, `n1` and `n2`.
set -euo pipefail
[ $# -gt 0 ] || { sed -n '2,6s/^# //p' "$0" >&2; exit 2; }
[ "$(id -u)" -eq 0 ] || { echo "slurm.sh needs root, for networks" >&2; exit 1; }

needs=()
command -v slurmctld >/dev/null || needs+=(slurmctld slurmd slurm-client munge)
command -v ip >/dev/null || needs+=(iproute2)
[ ${#needs[@]} -eq 0 ] ||
  "$(dirname "${BASH_SOURCE[0]}")/packages.sh" --no-install-recommends "${needs[@]}"

# One cluster at a time: the networks have names.
exec 9>"${TMPDIR:-/tmp}/anneal-slurm.lock"
flock 9

folder=$(mktemp -d)
chmod 755 "$folder"
declare -A addresses=([control]=198.18.22.1 [n1]=198.18.22.11 [n2]=198.18.22.12)
stop() {
  pkill -KILL --pidfile "$folder/munge/pid" 2>/dev/null || true
  for name in "${!addresses[@]}"; do
    ip netns pids "anneal-$name" 2>/dev/null | xargs -r kill -KILL 2>/dev/null || true
    ip netns delete "anneal-$name" 2>/dev/null || true
  done
  ip link delete anneal-slurm 2>/dev/null || true
}
# What one that was killed has left.
stop
trap 'stop; rm -rf "$folder"' EXIT

ip link add anneal-slurm type bridge
ip address add 198.18.22.254/24 dev anneal-slurm
ip link set anneal-slurm up
for name in "${!addresses[@]}"; do
  ip netns add "anneal-$name"
  ip link add "an-$name" type veth peer name eth0 netns "anneal-$name"
  ip link set "an-$name" master anneal-slurm up
  ip -n "anneal-$name" link set lo up
  ip -n "anneal-$name" address add "${addresses[$name]}/24" dev eth0
  ip -n "anneal-$name" link set eth0 up
done

mkdir "$folder/state" "$folder/log"
head -c 128 /dev/urandom >"$folder/munge.key"
chmod 600 "$folder/munge.key"
chown -R munge "$folder/munge.key"
mkdir "$folder/munge"
chown munge "$folder/munge"
setpriv --reuid munge --regid munge --clear-groups munged --force --key-file="$folder/munge.key" \
  --socket="$folder/munge/socket" --pid-file="$folder/munge/pid" --log-file="$folder/munge/log" --seed-file="$folder/munge/seed" 9>&-
cat >"$folder/slurm.conf" <<CONF
ClusterName=anneal
SlurmctldHost=control(${addresses[control]})
AuthType=auth/munge
AuthInfo=socket=$folder/munge/socket
CryptoType=crypto/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool-%n
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd-%n.pid
SlurmctldLogFile=$folder/log/slurmctld
SlurmdLogFile=$folder/log/slurmd-%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SlurmctldTimeout=5
SlurmdTimeout=30
InactiveLimit=0
KillWait=10
MinJobAge=600
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,bf_interval=1
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MaxArraySize=11
NodeName=n1 NodeAddr=${addresses[n1]} NodeHostname=n1 CPUs=2 RealMemory=4000
NodeName=n2 NodeAddr=${addresses[n2]} NodeHostname=n2 CPUs=2 RealMemory=4000
PartitionName=main Nodes=n1,n2 Default=YES MaxTime=1440 State=UP
PartitionName=short Nodes=n1,n2 MaxTime=1 State=UP
CONF
export SLURM_CONF=$folder/slurm.conf
cat >"$folder/control" <<'CONTROL'
set -euo pipefail
within() { nsenter --net="/run/netns/anneal-$1" unshare --uts sh -c 'hostname "$1"; shift; exec "$@"' - "$@"; }
case $1 in
  start)
    if [ "$2" = control ]; then within control slurmctld; else within "$2" slurmd -N "$2"; fi 9>&- ;;
  # All of a machine but its network: what computes there, too.
  kill) ip netns pids "anneal-$2" | xargs -r kill -KILL || true ;;
  # Only the program of Slurm's.
  end) if [ "$2" = control ]; then pkill -KILL --pidfile "$folder/slurmctld.pid"; else pkill -KILL --pidfile "$folder/slurmd-$2.pid"; fi ;;
  cut) ip link set "an-$2" down ;;
  heal) ip link set "an-$2" up ;;
esac
CONTROL
export ANNEAL_TEST_SLURM_CONTROL="export SLURM_CONF=$SLURM_CONF folder=$folder; . $folder/control"
for name in control n1 n2; do bash -c "$ANNEAL_TEST_SLURM_CONTROL" - start "$name"; done
for ((i = 0; ; i++)); do
  [ "$(sinfo --noheader --format '%T' --partition main 2>/dev/null)" = idle ] && break
  [ "$i" -lt 120 ] || { echo "the cluster did not start" >&2; cat "$folder"/log/* >&2; exit 1; }
  sleep 0.5
done
ANNEAL_TEST_SLURM=198.18.22.254 "$@" 9>&-
