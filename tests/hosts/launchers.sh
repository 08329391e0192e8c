#!/usr/bin/env bash
# One program under each launcher of docs/guide.md, by the command that stands
# there, with 9 ranks on three emulated hosts (see hosts.sh) of 3, 1 and 5: the
# collectives are right, and the digest of what the ranks received is the same.
# After kill -9 of a rank no rank is alive 2 s later, 10 s if none calls catena,
# and the launcher fails.
# usage: tests/hosts/launchers.sh BUILD_DIR
set -u
# shellcheck source=tests/script.sh
. "$(dirname "$0")/../script.sh"
hosts_work=$work
# shellcheck source=tests/hosts/hosts.sh
. "$here/hosts.sh"
# shellcheck source=tests/hosts/slurm.sh
. "$here/slurm.sh"
trap 'slurm_down; hosts_down; rm -rf "$work"' EXIT
guide=$here/../../docs/guide.md
hosts=node0:3,node1:1,node2:5
tcp=CATENA_BOOT=tcp://node0:7777
digest= # of 9 ranks

# What the emulated hosts need: their agent in place of ssh, and mpirun as root.
export HYDRA_LAUNCHER=rsh HYDRA_LAUNCHER_EXEC=$here/host-agent
export OMPI_MCA_plm_rsh_agent=$here/host-agent PRTE_MCA_plm_ssh_agent=$here/host-agent
export OMPI_MCA_oob_tcp_if_include=10.77.0.0/24 PRTE_MCA_prte_if_include=10.77.0.0/24
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
PATH=$build/tools:$PATH

# each_rank COMMAND...: on the host of each rank, as ssh in a loop does
each_rank() {
    local host pid pids=() status=0
    for host in 1 1 1 2 3 3 3 3 3; do
        CATENA_BOOT_RANK=${#pids[@]} CATENA_BOOT_SIZE=9 \
            nsenter -t "$(host_pid $host)" -n -u -i -m -- "$@" &
        pids+=($!)
    done
    for pid in "${pids[@]}"; do
        wait "$pid" || status=1
    done
    return $status
}

# start WHERE COMMAND: WHERE is on_head, each_rank, or env for this machine
start() {
    "$1" timeout --foreground -k 5 60 bash -c "cd '$work' && exec env $2" >"$out" 2>"$err"
}

in_guide() { # NAME COMMAND
    grep -qF "\`$2\`" "$guide"
    verdict "$1: the guide has the command" $? "$2"
}

# right NAME WHERE LAYOUT COMMAND
right() {
    local found
    ln -sf "$build/tests/hosts/launched" "$work/first"
    in_guide "$1" "$4"
    start "$2" "$4" && grep -qx "layout $3" "$out"
    verdict "$1: right results" $? "expected: layout $3"
    found=$(grep '^digest' "$out")
    digest=${digest:-$found}
    [ -n "$found" ] && [ "$found" = "$digest" ]
    verdict "$1: the same digest" $? "$found, expected: $digest"
}

# The ranks are the processes in this test's directory.
ranks() {
    local pid
    for pid in $(pidof first); do
        [ "/proc/$pid/cwd" -ef "$work" ] && echo "$pid"
    done
}
# rank_on HOST: victim is a rank of that emulated host; 0: of this machine
rank_on() {
    local pid
    victim=
    for pid in $(ranks); do
        if [ "$1" = 0 ] || [ "/proc/$pid/ns/net" -ef "/proc/$(host_pid "$1")/ns/net" ]; then
            victim=$pid
        fi
    done
    [ -n "$victim" ]
}
# left_over: ranks, and segments of all hosts and of this machine
left_over() {
    local pid
    ranks
    find /dev/shm -name 'catena*'
    while read -r _ pid; do
        nsenter -t "$pid" -m find /dev/shm -name 'catena*'
    done <"$HOSTS_PIDS"
}
now_ms() { date +%s%3N; }
ended() { ! kill -0 "$job" 2>/dev/null; }

# killed NAME WHERE COMMAND HOST SECONDS: kill a rank there; the others are gone
# after that time, and the command fails by itself
killed() {
    local case="$1, kill -9 of a rank on host $4" began gone left status=ended
    : >"$out"
    start "$2" "$3" &
    job=$!
    poll 30 grep -qE '^(running|digest)' "$out" && rank_on "$4" && kill -KILL "$victim"
    verdict "$case" $? "there is none"
    began=$(now_ms)
    while
        left=$(left_over)
        gone=$(($(now_ms) - began))
        [ -n "$left" ] && [ $gone -lt $(($5 * 1000)) ]
    do
        sleep 0.02
    done
    [ -z "$left" ]
    verdict "$case: no rank and no segment after $5 s" $? "$left"
    poll 10 ended || {
        status=killed
        # shellcheck disable=SC2046
        kill -TERM $(ps -o pid= --ppid "$job")
    }
    wait "$job" && status=success
    echo "# $1: no rank after $gone ms, the end after $(($(now_ms) - began)) ms"
    [ $status = ended ]
    verdict "$case: it ends with an error" $? "$status"
}

# launcher NAME WHERE LAYOUT COMMAND HOST...: in turn ranks of these are killed
# while they exchange data, and one of the last while all ranks make no call
launcher() {
    local host
    right "${@:1:4}"
    ln -sf "$build/tests/fault/turns" "$work/first"
    for host in "${@:5}"; do
        killed "$1" "$2" "$4 $work/never" "$host" 2
    done
    ln -sf "$build/tests/hosts/launched" "$work/first"
    killed "$1, no call" "$2" "$4 60" "$host" 10
}

# survives NAME COMMAND: rank 1 dies before the step 3 of 6, the others go on
survives() {
    ln -sf "$build/tests/hosts/survivors" "$work/survivors"
    in_guide "$1" "$2"
    start on_head "$2"
    grep -qx 'step 5: 8 ranks' "$out"
    verdict "$1: the other ranks go on" $?
}

# there NAME PROGRAM: whether it is installed
there() {
    command -v "$2" >"$out" || {
        echo "skip - $1: there is no $2"
        return 1
    }
}

: >"$HOSTS_PIDS"
launcher prun env '3+1+5, boot pmix' 'prun -n 9 --ppn 3+1+5 ./first' 0
hosts_up 3 2>"$err" || {
    echo "skip - three hosts: status $?, $(head -1 "$err")"
    exit $((failed > 0))
}
there mpirun mpirun &&
    launcher mpirun on_head '3+1+5, boot pmix' "mpirun -H $hosts -n 9 ./first" 2 3
there PRRTE prterun &&
    launcher PRRTE on_head '3+1+5, boot pmix' "prterun -H $hosts -n 9 ./first" 2 3
there Hydra mpiexec.hydra &&
    launcher Hydra on_head '3+1+5, boot tcp' \
        "$tcp mpiexec.hydra -hosts $hosts -n 9 ./first" 2 3
launcher "a loop" each_rank '3+1+5, boot tcp' "$tcp ./first" 2 3
missing=$(slurm_missing)
if [ -n "$missing" ]; then
    echo "skip - Slurm: $missing"
elif ! slurm_up 3 1 5; then
    cp "$slurm/daemons.log" "$err"
    verdict "Slurm: its hosts are idle" 1
else
    launcher "srun with PMIx" on_head '3+1+5, boot pmix' \
        'srun -K --mpi=pmix -N 3 -n 9 ./first' 2 3
    survives "srun without -K" 'srun --mpi=pmix -N 3 -n 9 ./survivors'
    launcher "srun without PMIx" on_head '3+1+5, boot tcp' \
        "$tcp srun --mpi=none -N 3 -n 9 ./first" 2 3
fi
digest=
right none env '1, boot singleton' ./first
exit $((failed > 0))
