#!/usr/bin/env bash
# Other launchers: none, Open MPI's mpirun, and mpirun over three emulated
# hosts of 3, 1 and 5 ranks. A host is a set of namespaces: network, UTS, IPC
# and mount, with a /dev/shm, /etc/hosts and /sys of its own.
# usage: tests/hosts/run.sh BUILD_DIR
set -u
here=$(cd "$(dirname "$0")" && pwd)
bench=$(cd "$1" && pwd)/tools/catena-bench
work=$(mktemp -d)
export HOSTS_PIDS=$work/pids
bridge=ctnbr$((RANDOM % 1000))
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
    local pid
    if [ -f "$HOSTS_PIDS" ]; then
        while read -r _ pid; do
            kill -KILL "$pid" 2>/dev/null
        done <"$HOSTS_PIDS"
    fi
    ip link del "$bridge" 2>/dev/null
    rm -rf "$work"
}
trap finish EXIT

# checked NAME ROWS COMMAND...: a CSV with that many rows and no error
checked() {
    local name=$1 rows=$2 summary
    shift 2
    "$@" >"$work/csv" 2>"$work/err"
    summary="$? $(awk -F, '/^alltoall,/ { n++; e += $12 }
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

host_up() { # NAME NUMBER
    local name=$1 number=$2 pid
    unshare -n -u -i -m sh -c "
        hostname $name &&
        mount --make-rprivate / &&
        cp '$work/hosts' /dev/shm/hosts.$$ &&
        mount --bind /dev/shm/hosts.$$ /etc/hosts && rm /dev/shm/hosts.$$ &&
        mount -t tmpfs none /dev/shm &&
        mount -t sysfs none /sys &&
        exec sleep 600" &
    pid=$!
    disown # its end is nobody's news
    echo "$name $pid" >>"$HOSTS_PIDS"
    for _ in $(seq 100); do
        [ "$(nsenter -t $pid -u hostname 2>/dev/null)" = "$name" ] &&
            nsenter -t $pid -m sh -c "grep -q 10.77.0 /etc/hosts" && break
        sleep 0.02
    done
    ip link add "$bridge.$number" type veth peer name eth0 netns $pid &&
        ip link set "$bridge.$number" master "$bridge" up &&
        nsenter -t $pid -n ip addr add "10.77.0.$number/24" dev eth0 &&
        nsenter -t $pid -n ip link set eth0 up &&
        nsenter -t $pid -n ip link set lo up
}

hosts_up() {
    ip link add "$bridge" type bridge && ip link set "$bridge" up || return 1
    printf '127.0.0.1 localhost\n10.77.0.1 node0\n10.77.0.2 node1\n10.77.0.3 node2\n' \
        >"$work/hosts"
    host_up node0 1 && host_up node1 2 && host_up node2 3
}

on_head() {
    nsenter -t "$(awk '$1 == "node0" { print $2 }' "$HOSTS_PIDS")" \
        -n -u -i -m -- "$@"
}

over_hosts() {
    # shellcheck disable=SC2086
    on_head $mpirun --mca plm_rsh_agent "$here/host-agent" \
        --mca oob_tcp_if_include 10.77.0.0/24 -x HOSTS_PIDS \
        -H node0:3,node1:1,node2:5 -n 9 "$@"
}

if ! unshare -n -u -i -m true 2>/dev/null; then
    skip "three hosts" "namespaces are not allowed here"
elif ! hosts_up 2>"$work/err"; then
    skip "three hosts" "the network could not be made: $(head -1 "$work/err")"
else
    for buffers in heap malloc; do
        checked "hosts of 3, 1 and 5 ranks, $buffers buffers" 85 \
            over_hosts "$bench" alltoall -c --csv -a $algorithms -m 1:65536 \
            -i 3 --buffers $buffers
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
            "$(readlink "/proc/$(awk 'NR == 3 { print $2 }' "$HOSTS_PIDS")/ns/net")" ]; then
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
