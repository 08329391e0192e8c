#!/usr/bin/env bash
# Other launchers: none, Open MPI's mpirun, and mpirun on three emulated
# hosts (see hosts.sh) of 3, 1 and 5 ranks.
# usage: tests/hosts/run.sh BUILD_DIR
set -u
# shellcheck source=tests/script.sh
. "$(dirname "$0")/../script.sh"
hosts_work=$work
# shellcheck source=tests/hosts/hosts.sh
. "$here/hosts.sh"
mpirun="timeout 150 mpirun --allow-run-as-root --oversubscribe"
trap 'hosts_down; rm -rf "$work"' EXIT

# checked NAME ROWS COMMAND...: a CSV with this number of alltoall rows and no
# error
checked() {
    local status rows
    "${@:3}" -c --csv -i 3 >"$out" 2>"$err"
    status=$?
    rows=$(awk -F, '/^collective,/ { while ($++at != "errors"); }
        /^alltoall[vw]?,/ { n++; e += $at } END { print n + 0, e + 0 }' "$out")
    [ "$status $rows" = "0 $2 0" ]
    verdict "$1" $? "status, rows, errors: $status $rows"
}

on_all() {
    # shellcheck disable=SC2086
    on_head $mpirun --mca plm_rsh_agent "$here/host-agent" \
        --mca oob_tcp_if_include 10.77.0.0/24 -x HOSTS_PIDS \
        -H node0:3,node1:1,node2:5 -n 9 "$@"
}
over_hosts() { on_all "$bench" "$@"; }

for collective in alltoall alltoallv alltoallw; do
    checked "$collective started by hand" 11 timeout 60 "$bench" $collective \
        -m 1:1024
    # shellcheck disable=SC2086
    checked "$collective, mpirun, one host" 22 $mpirun -n 4 "$bench" \
        $collective -a direct,auto -m 1:1024
done

hosts_up 3 2>"$err" || {
    echo "skip - three hosts: status $?, $(head -1 "$err")"
    exit $((failed > 0))
}
for buffers in heap malloc; do
    checked "hosts of 3, 1 and 5 ranks, $buffers buffers" 25 over_hosts \
        alltoall -a direct,l-a2a,mpml,nmpml,onmpml -m 4096:65536 \
        --buffers $buffers
done
checked "hosts of 3, 1 and 5 ranks, short" 36 over_hosts \
    alltoall -a direct,l-a2a,onmpml -m 1:2048
checked "alltoallv, hosts of 3, 1 and 5 ranks" 16 over_hosts \
    alltoallv -a direct,l-a2a,onmpml,auto -m 512:4096 --buffers malloc
checked "alltoallw, hosts of 3, 1 and 5 ranks" 16 over_hosts \
    alltoallw -a direct,l-a2a,onmpml,auto -m 8192:65536
layout_is_seen() {
    over_hosts alltoall --csv -m 8:8 -i 3 && grep -q '^alltoall,[^,]*,9,3,' "$out"
}
try "the layout is seen" layout_is_seen

# rank_on HOST PROGRAM: victim is a rank there: it uses the host's network
rank_on() {
    local pid
    victim=
    for pid in $(pidof "$2"); do
        if [ "/proc/$pid/ns/net" -ef "/proc/$(host_pid "$1")/ns/net" ]; then
            victim=$pid
        fi
    done
    [ -n "$victim" ]
}
ended() { ! kill -0 "$job" 2>/dev/null; }

# A hang is explained on each host.
on_all "$build/tests/fault/hang" barrier_allreduce >"$work/hang" 2>&1 &
job=$!
all_there() { [ "$(wc -l <"$work/hang")" -ge 1 ]; }
explains() { # HOST PATTERN
    rank_on "$1" hang && "$build/tools/catena-info" --job "$victim" >"$out" 2>"$err" &&
        grep -q "^call 2 of the world: $2" "$out"
}
poll 60 all_there
for host in '1 allreduce, 8 B, sum of double: 0 2; barrier: 1; 6 ranks are on other nodes' \
    '2 allreduce, 8 B, sum of double: 3; 8 ranks are' '3 allreduce, 8 B, sum of double: 4-8; 4 ranks are'; do
    poll 2 explains "${host%% *}" "${host#* }"
    verdict "a hang is explained on host ${host%% *} of 3" $?
done
rank_on 1 hang && kill -KILL "$victim" # mpirun ends the others
poll 30 ended
verdict "the job that hangs is ended" $?

head_is_clean() { [ -z "$(on_head ls /dev/shm)" ]; }
over_hosts alltoall -m 8:8 -i 10000000 >"$out" 2>&1 &
job=$!
poll 60 grep -q '^#' "$out"
poll 20 rank_on 3 catena-bench && kill -KILL "$victim" && poll 60 ended &&
    poll 10 head_is_clean
verdict "kill -9 of a rank on a host" $?
ended || kill -TERM "$job"
wait "$job" 2>/dev/null
exit $((failed > 0))
