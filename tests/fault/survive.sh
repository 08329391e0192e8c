#!/usr/bin/env bash
# Failures that are returned: ranks die, the others go on (tests/fault/survive.c),
# below prun --continuous, below Open MPI's mpirun, and on emulated hosts that no
# launcher watches.
# usage: tests/fault/survive.sh BUILD_DIR [ROUNDS]          SURVIVE_SEED=N
set -u
# shellcheck source=tests/fault/job.sh
. "$(dirname "$0")/job.sh"
survive=$build/tests/fault/survive
rounds=${2:-1}
seed=${SURVIVE_SEED:-$RANDOM}
echo "# SURVIVE_SEED=$seed"
export SURVIVE_TIMES=$work/times
latest=0 # milliseconds from a death to an error

# the ranks of a job that is over: the longest time from a death to an error
note_times() {
    local ms
    while read -r ms; do
        [ "$ms" -le "$latest" ] || latest=$ms
    done < <(sed -n 's/.*errors at most \([0-9]*\) ms after.*/\1/p' "$out")
    rm -f "$SURVIVE_TIMES"
}

# below prun: LAYOUT DEATHS SEED
below_prun() {
    # shellcheck disable=SC2086
    start --continuous $1 "$survive" "$3" "$2" 700
    finish
    expect_rc 0
    grep -q '^ok - ' "$out" || fail "no word of success"
    note_times
    done_ "prun --continuous $1, $2 deaths, seed $3"
}

# a rank dies while 8 or 16 MiB to and from each other node are under way: SEED
large_below_prun() {
    start --continuous -n 3 --ppn 1 "$survive" --large "$1"
    finish
    expect_rc 0
    [ "$(grep -c '^ok - ' "$out")" -eq 2 ] ||
        fail "not two ranks are left: $(grep -m1 -E 'Assertion|Caught signal|ERROR' "$err")"
    note_times
    done_ "prun --continuous, a death in a long alltoall, seed $1"
}
for ((i = 0; i < rounds; i++)); do
    below_prun "-n 4" 1 $((seed + 4 * i))
    below_prun "-n 6 --ppn 3" 2 $((seed + 4 * i + 1))
    below_prun "-n 9 --ppn 4" 3 $((seed + 4 * i + 2))
    if [ "$rounds" -gt 1 ]; then # some seconds of a core each
        large_below_prun $((seed + 2 * i))
        large_below_prun $((seed + 2 * i + 1))
    fi
done

# The job has the code of the rank that ends by itself, not of one that is killed.
start --continuous -n 3 "$survive" --leave 3
finish
expect_rc 3
grep -q 'rank 1 .* was killed by signal 9' "$err" || fail "no word of rank 1"
done_ "prun --continuous: the exit code of a survivor"

# The rank that ends the last agreement dies in the middle of that.
start --continuous -n 3 "$build/tests/fault/leave" "$work/left"
finish
expect_rc 0
grep -q '^ok - ' "$out" || fail "no word of rank 2"
done_ "prun --continuous: catena_finalize returns on all that live"

# A rank calls catena_finalize while the others agree or shrink.
for how in "agree 0" "agree 1" "shrink 0" "shrink 1" "agree 1 dies" "agree 2 dies"; do
    for ppn in 3 1; do
        rm -f "$work/left"
        # shellcheck disable=SC2086
        start --continuous --timeout 20 -n 3 --ppn $ppn "$build/tests/fault/leave" \
            "$work/left" $how
        finish
        expect_rc 0
        expected=3
        [[ $how != *dies ]] || expected=2
        [ "$(grep -c '^ok - ' "$out")" -eq $expected ] ||
            fail "$(grep -m1 '^not ok' "$out")"
        done_ "prun --ppn $ppn: a rank finalizes while others agree or shrink: $how"
    done
done

# Ranks that leave take nobody for dead: UCX would print that it cannot connect.
CATENA_FAILURES=return start -n 5 --ppn 2 "$build/tools/catena-bench" barrier -i 5 -x 1
finish
expect_rc 0
expect "what UCX prints, and errors" "$(grep -h UCX "$out" | grep -v '^#'; cat "$err")" ""
done_ "prun: nothing is printed when all leave"

# What a rank sends after the error of another one changes no buffer.
for call in allgather ${2:+alltoall}; do
    start --continuous -n 3 --ppn 1 "$build/tests/fault/late" $call
    finish
    expect_rc 0
    [ "$(grep -c '^ok - ' "$out")" -eq 2 ] || fail "$(grep -m1 '^not ok' "$out")"
    done_ "prun --continuous: data of an $call that come after the error"
done

start --continuous -n 5 --ppn 1 "$survive" --cut
finish
expect_rc 0
[ "$(grep -c '^ok - ' "$out")" -ge 3 ] || fail "fewer than 3 ranks went on"
done_ "prun --continuous: a broken connection"

# A rank that dies before all have joined ends the job.
start --continuous -n 4 sh -c \
    'test "$PMIX_RANK" != 2 || kill -9 $$; exec "$@"' - "$survive" 1 0
finish
expect_rc 137
done_ "prun --continuous: a death before all have joined"

# Open MPI 4.1 writes a line of its own about the notice of a death.
if command -v mpirun.openmpi >/dev/null; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    for ((i = 0; i < rounds; i++)); do
        prun=mpirun.openmpi start --enable-recovery --oversubscribe -n 6 "$survive" \
            $((seed + 4 * i + 3)) 2 700
        finish
        expect_rc 0
        grep -q '^ok - ' "$out" || fail "no word of success"
        note_times
        done_ "mpirun --enable-recovery, 6 ranks, 2 deaths, seed $((seed + 4 * i + 3))"
    done
else
    echo "skip - mpirun --enable-recovery (there is no Open MPI)"
fi

# ---- without a launcher, on four hosts ----

hosts_work=$work/hosts
mkdir "$hosts_work"
# shellcheck disable=SC2034
hosts_seconds=$((600 + 10 * rounds))
# shellcheck source=tests/hosts/hosts.sh
. "$here/../hosts/hosts.sh"
hosts_up 4 2>/dev/null
case $? in
2) echo "ok - emulated hosts # SKIP not permitted here" ;;
1) fail "no network between emulated hosts" && done_ "emulated hosts" ;;
esac

# on_hosts DEATHS SEED: two ranks on each host
on_hosts() {
    local r pids=()
    mark
    now
    for r in 0 1 2 3 4 5 6 7; do
        nsenter -t "$(host_pid $((r / 2 + 1)))" -n -u -i -m -- \
            env CATENA_BOOT=tcp://10.77.0.1:24600 CATENA_BOOT_RANK=$r \
            CATENA_BOOT_SIZE=8 CATENA_BOOT_SECRET="$seed" \
            timeout 60 "$survive" "$2" "$1" 700 >"$out.$r" 2>"$err.$r" &
        pids+=($!)
    done
    local dead=0 wrong=0 rc
    for r in 0 1 2 3 4 5 6 7; do
        wait "${pids[r]}" 2>/dev/null
        rc=$?
        # UCX 1.13 ends a process whose peer dies while they connect, now and then.
        if [ $rc -eq 137 ] || grep -qE '(wireup_ep|tcp_ep|ucp_request)\.c.*Assertion' "$err.$r"; then
            dead=$((dead + 1))
        elif [ $rc -ne 0 ]; then
            wrong=$((wrong + 1))
        fi
    done
    cat "$out".[0-9] >"$out"
    cat "$err".[0-9] >"$err"
    deaths=$((${deaths:-0} + dead))
    [ $wrong -eq 0 ] ||
        fail "$wrong ranks failed: $(grep -hm1 -E 'Assertion|Caught signal|ERROR' "$err".[0-9])"
    grep -q '^ok - ' "$out" || fail "no word of success"
    note_times
    done_ "no launcher, 4 hosts, $dead deaths, seed $2"
}
if [ -s "$HOSTS_PIDS" ]; then
    for ((i = 0; i < rounds; i++)); do
        on_hosts $((1 + i % 4)) $((seed + 1000 + i))
    done
    echo "# ${deaths:-0} deaths on emulated hosts"
fi
hosts_down
echo "# errors at most $latest ms after a death"
exit $((failed > 0))
