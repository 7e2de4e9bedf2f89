#!/bin/sh
# one_node_slurm.sh FOLDER COMMAND...: runs a command inside a Slurm of this machine alone (munged, slurmctld, slurmd of Debian's packages), whose
# files are all in FOLDER, and ends it. Exit code 77: it could not be started, and the last line says why. The command finds SLURM_CONF set, and has
# two minutes. Nothing waits for ever: sinfo tries for minutes where there is no slurmctld, and a daemon may not end when it is asked to.
set -eu
folder=$1
shift
PATH=$PATH:/usr/sbin:/sbin
for program in munged mungekey slurmctld slurmd srun sinfo; do
    command -v $program >/dev/null 2>&1 || { echo "no $program: Debian's packages munge, slurmctld, slurmd, slurm-client"; exit 77; }
done
mkdir -p "$folder/state" "$folder/spool"
chmod 755 "$folder"
host=$(hostname -s)
user=$(id -un)
# Below the ports that the system gives to whoever asks for any, and two for each process. Somebody may have one all the same: then others.
port=$((20000 + $$ % 6000 * 2))
mungekey --create --keyfile "$folder/key"
configure() {
    cat >"$folder/slurm.conf" <<END
ClusterName=one
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
SlurmdPort=$((port + 1))
SlurmUser=$user
SlurmdUser=$user
AuthType=auth/munge
AuthInfo=socket=$folder/munge.socket
CredType=cred/munge
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MpiDefault=none
ReturnToService=2
SwitchType=switch/none
SlurmdParameters=config_overrides
NodeName=$host NodeAddr=127.0.0.1 CPUs=8 State=UNKNOWN
PartitionName=all Nodes=$host Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:8
END
}
SLURM_CONF=$folder/slurm.conf
export SLURM_CONF
started=
# Ends what was started: after five seconds whether it likes or not.
stop() {
    for pid in $started; do kill "$pid" 2>/dev/null || true; done
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        alive=
        for pid in $started; do if kill -0 "$pid" 2>/dev/null; then alive="$alive $pid"; fi; done
        [ -n "$alive" ] || break
        sleep 0.5
    done
    for pid in $alive; do kill -KILL "$pid" 2>/dev/null || true; done
    for pid in $started; do wait "$pid" 2>/dev/null || true; done
    started=
}
trap stop EXIT
trap 'exit 143' TERM INT HUP
munge() {
    munged --foreground --force --key-file "$folder/key" --socket "$folder/munge.socket" --pid-file "$folder/munge.pid" --log-file "$folder/munge.log" \
        --seed-file "$folder/munge.seed" >"$folder/munged.out" 2>&1 &
    started="$started $!"
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        [ -S "$folder/munge.socket" ] && break
        sleep 0.2
    done
}
munge
taken() { grep -qs 'Address already in use' "$folder/slurmctld.log" "$folder/slurmd.log"; }
ready=
for _ in 1 2 3; do
    configure
    slurmctld -D -f "$SLURM_CONF" >"$folder/ctld.out" 2>&1 &
    started="$started $!"
    slurmd -D -N "$host" -f "$SLURM_CONF" >"$folder/slurmd.out" 2>&1 &
    started="$started $!"
    tries=0
    while [ -z "$ready" ] && [ $tries -lt 60 ] && ! taken; do
        if timeout 5 sinfo -h -o %t 2>/dev/null | grep -qE '^(idle|mix|alloc)$'; then ready=1; else sleep 0.5; fi
        tries=$((tries + 1))
    done
    if [ -n "$ready" ] || ! taken; then break; fi
    # Other ports, and a munged of its own again: stop() ends them all.
    stop
    rm -f "$folder/slurmctld.log" "$folder/slurmd.log"
    port=$((20000 + (port + 1234) % 12000))
    munge
done
if [ -z "$ready" ]; then
    tail -n 3 "$folder/slurmctld.log" "$folder/slurmd.log" "$folder/munge.log" "$folder/munged.out" "$folder/ctld.out" "$folder/slurmd.out" 2>/dev/null || true
    echo "a Slurm of one node does not start here: $(tail -n 1 "$folder/slurmd.log" 2>/dev/null || tail -n 1 "$folder/munge.log" 2>/dev/null)"
    exit 77
fi
status=0
timeout -k 5 120 "$@" || status=$?
if [ $status = 124 ] || [ $status = 137 ]; then
    echo "after two minutes it had not ended: $*" >&2
    timeout 5 scontrol show job >&2 || true
    timeout 5 sinfo -N -l >&2 || true
    tail -n 20 "$folder/slurmctld.log" "$folder/slurmd.log" >&2 || true
fi
# A slurmstepd that cannot tell slurmctld of its end goes on trying, whoever started it being gone or not.
tries=0
while [ $tries -lt 20 ] && timeout 5 squeue -h | grep -q .; do
    sleep 0.5
    tries=$((tries + 1))
done
exit $status
