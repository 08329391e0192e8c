#!/usr/bin/env bash
# Other launchers: none, Open MPI's mpirun, and mpirun over three emulated
# hosts (see hosts.sh) of 3, 1 and 5 ranks.
# usage: tests/hosts/run.sh BUILD_DIR
set -u
here=$(cd "$(dirname "$0")" && pwd)
bench=$(cd "$1" && pwd)/tools/catena-bench
work=$(mktemp -d)
hosts_work=$work
# shellcheck source=tests/hosts/hosts.sh
source "$here/hosts.sh"
algorithms=direct,l-a2a,mpml,nmpml,onmpml
passed=0
failed=0
skipped=0
mpirun="timeout 150 mpirun --allow-run-as-root --oversubscribe"

ok() {
    echo "ok - $1"
    passed=$((passed + 1))
}
not_ok() {
    echo "not ok - $1: $2"
    failed=$((failed + 1))
}
skip() {
    echo "skip - $1: $2"
    skipped=$((skipped + 1))
}
finish() {
    hosts_down
    rm -rf "$work"
}
trap finish EXIT

# checked NAME ROWS COMMAND...: a CSV with that many rows of alltoalls and no
# error
checked() {
    local name=$1 rows=$2 summary
    shift 2
    "$@" >"$work/csv" 2>"$work/err"
    summary="$? $(awk -F, '/^alltoall[vw]?,/ { n++; e += $12 }
        END { print n + 0, e + 0 }' "$work/csv")"
    if [ "$summary" = "0 $rows 0" ]; then
        ok "$name"
    else
        not_ok "$name" "status, rows, errors: $summary; $(head -3 "$work/err")"
    fi
}

checked "started by hand" 11 timeout 60 "$bench" alltoall -c --csv -m 1:1024 -i 3
# shellcheck disable=SC2086
checked "mpirun, one host" 11 $mpirun -n 4 "$bench" alltoall -c --csv \
    -m 1:1024 -i 3
for collective in alltoallv alltoallw; do
    checked "$collective started by hand" 11 timeout 60 "$bench" $collective \
        -c --csv -m 1:1024 -i 3
    # shellcheck disable=SC2086
    checked "$collective, mpirun, one host" 22 $mpirun -n 4 "$bench" \
        $collective -c --csv -a direct,auto -m 1:1024 -i 3
done

over_hosts() {
    # shellcheck disable=SC2086
    on_head $mpirun --mca plm_rsh_agent "$here/host-agent" \
        --mca oob_tcp_if_include 10.77.0.0/24 -x HOSTS_PIDS \
        -H node0:3,node1:1,node2:5 -n 9 "$@"
}

hosts_up 3 2>"$work/err"
up=$?
if [ $up -eq 2 ]; then
    skip "three hosts" "namespaces are not allowed here"
elif [ $up -ne 0 ]; then
    skip "three hosts" "the network could not be made: $(head -1 "$work/err")"
else
    for buffers in heap malloc; do
        checked "hosts of 3, 1 and 5 ranks, $buffers buffers" 85 \
            over_hosts "$bench" alltoall -c --csv -a $algorithms -m 1:65536 \
            -i 3 --buffers $buffers
        for collective in alltoallv alltoallw; do
            checked "$collective, hosts of 3, 1 and 5 ranks, $buffers" 44 \
                over_hosts "$bench" $collective -c --csv \
                -a direct,l-a2a,onmpml,auto -m 64:65536 -i 3 --buffers $buffers
        done
    done
    if over_hosts "$bench" alltoall -m 8:8 -i 3 2>/dev/null |
        grep -q '9 ranks on 3 nodes'; then
        ok "the layout is seen"
    else
        not_ok "the layout is seen" "expected 9 ranks on 3 nodes"
    fi
    over_hosts "$bench" alltoall -m 8:8 -i 10000000 >"$work/csv" 2>&1 &
    job=$!
    sleep 2
    # A rank: its mount namespace is that of the emulated host.
    victim=
    for pid in $(pidof catena-bench); do
        if [ "$(readlink "/proc/$pid/ns/net")" = \
            "$(readlink "/proc/$(host_pid 3)/ns/net")" ]; then
            victim=$pid
        fi
    done
    if [ -z "$victim" ]; then
        not_ok "kill -9 of a rank on a host" "no rank found"
        kill -TERM $job
    else
        kill -KILL "$victim"
        for _ in $(seq 200); do
            kill -0 $job 2>/dev/null || break
            sleep 0.05
        done
        if kill -0 $job 2>/dev/null; then
            not_ok "kill -9 of a rank on a host" "mpirun did not end"
            kill -KILL $job
        elif [ -n "$(on_head ls /dev/shm)" ]; then
            not_ok "kill -9 of a rank on a host" \
                "left behind: $(on_head ls /dev/shm)"
        else
            ok "kill -9 of a rank on a host"
        fi
    fi
    wait $job 2>/dev/null
fi
echo "# $passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
