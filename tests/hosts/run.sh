#!/usr/bin/env bash
# Other launchers: none, Open MPI's mpirun, and mpirun on three emulated
# hosts (see hosts.sh): collectives with 2, 1 and 3 ranks, hangs with 3, 1 and 5.
# usage: tests/hosts/run.sh BUILD_DIR [long]
# long: also all kinds of hangs, and strangers between the hosts
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
    "${@:3}" -c --csv -i 2 -x 1 >"$out" 2>"$err"
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
        -H node0:$1,node1:$2,node2:$3 -n $(($1 + $2 + $3)) "${@:4}"
}
# They share the cores of one host.
over_hosts() { on_all 2 1 3 -x CATENA_WAIT=sleep "$bench" "$@"; }

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
checked "hosts of 2, 1 and 3 ranks, heap buffers" 25 over_hosts alltoall \
    -a direct,l-a2a,mpml,nmpml,onmpml -m 1:65536 --step 16
grep -q '^alltoall,[^,]*,6,3,' "$out"
verdict "the layout is seen" $?
checked "hosts of 2, 1 and 3 ranks, malloc buffers" 15 over_hosts alltoall \
    -a direct,l-a2a,mpml,nmpml,onmpml -m 4096:65536 --step 4 --buffers malloc
checked "alltoallv, hosts of 2, 1 and 3 ranks" 8 over_hosts alltoallv \
    -a direct,l-a2a,onmpml,auto -m 512:4096 --step 8 --buffers malloc
checked "alltoallw, hosts of 2, 1 and 3 ranks" 8 over_hosts alltoallw \
    -a direct,l-a2a,onmpml,auto -m 8192:65536 --step 8

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

# A hang is explained on each host, by a command there, within two seconds of
# asking, once all ranks are where they hang.
explains() { # HOST PATTERN
    rank_on "$1" hang &&
        timeout 2 "$build/tools/catena-info" --job "$victim" >"$out" 2>"$err" &&
        grep -q "^call $2" "$out"
}
# hang_is_explained KIND PATTERN...: those of the calls on host 1, 2 and 3
hang_is_explained() {
    local kind=$1 host=0 pattern
    : >"$work/hang"
    on_all 3 1 5 "$build/tests/fault/hang" "$kind" >"$work/hang" 2>&1 &
    job=$!
    all_there() { [ "$(wc -l <"$work/hang")" -ge 1 ]; }
    poll 60 all_there
    for pattern in "${@:2}"; do
        host=$((host + 1))
        poll 20 explains "$host" "$pattern"
        verdict "a hang is explained on host $host of 3: $kind" $?
    done
    rank_on 3 hang && kill -KILL "$victim" # mpirun ends the others
    poll 30 ended
    verdict "the job that hangs is ended: $kind" $?
    wait "$job" 2>/dev/null
}
sum='allreduce, 8 B, sum of double'
elsewhere=('6 ranks are on other nodes' '8 ranks are' '4 ranks are')
# hang_in KIND CALL WHERE_IS_RANK_1: the others are in call 2 of the world
hang_in() {
    hang_is_explained "$1" "2 of the world: $2: 0 2; $3: 1; ${elsewhere[0]}" \
        "2 of the world: $2: 3; ${elsewhere[1]}" "2 of the world: $2: 4-8; ${elsewhere[2]}"
}
hang_in barrier_allreduce "$sum" barrier
if [ "${2:-}" = long ]; then
    hang_in never "$sum" 'not there yet, in no call'
    hang_in refused 'bcast, 8 B, root 0' barrier
    hang_is_explained roots \
        "3 of the world: reduce, 8 B, sum of double, root 0.*: 0 2; .*, root 1: 1" \
        '4 of the world: barrier: 3' '4 of the world: barrier: 4-8'
    hang_in stopped barrier 'not there yet, stopped'
    hang_in split_barrier group_split barrier
    hang_is_explained two_groups \
        '1 of group [0-9a-f]* (9 ranks): not there yet, in another call: 0; barrier: 1-2' \
        '1 of group [0-9a-f]* (9 ranks): barrier: 3' '1 of group [0-9a-f]* (9 ranks): barrier: 4-8'
    hang_is_explained neighbors \
        '1 of group .*: neighbor_alltoall, 8 B: 0 2; not there yet, in no call: 1'
    hang_in finalize barrier finalize
    hang_in late "$sum" 'not there yet, in no call'
    hang_in loop 'bcast, 8 B, root 0' 'not there yet, in no call'
fi

# Whatever connects to the ranks' ports from another host changes nothing.
strangers() {
    local targets count accepted
    : >"$work/turns"
    on_all 3 1 5 "$build/tests/fault/turns" "$work/over" >"$work/turns" 2>&1 &
    job=$!
    poll 60 grep -q running "$work/turns"
    rank_on 3 turns
    # shellcheck disable=SC2016
    mapfile -t targets < <(nsenter -t "$victim" -n ss -Hltnp | grep '"turns"' | grep -v ' 127\.' |
        awk '{sub(/^.*:/, "10.77.0.3:", $4); print $4}' | sort -u)
    count=${#targets[@]}
    accepted=$(on_head python3 "$here/../fault/junk.py" 1000 "${targets[@]}" 2>"$err")
    [ "$count" -ge 5 ] && [ "$accepted" = 1000 ]
    verdict "1,000 connections with random bytes from another host" $? \
        "$count ports, $accepted accepted"
    touch "$work/over"
    wait "$job"
    cp "$work/turns" "$out"
    verdict "they change nothing" $?
}
[ "${2:-}" != long ] || strangers

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
