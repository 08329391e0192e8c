#!/usr/bin/env bash
# Jobs that hang (hang.c): catena-info --job, a rank that waits for long, and prun
# at its timeout say which ranks are where.
# usage: tests/fault/hangs.sh BUILD_DIR
set -u
# shellcheck source=tests/script.sh
. "$(dirname "$0")/../script.sh"
hang=$build/tests/fault/hang
info=$build/tools/catena-info
pids=()
launcher=
trap 'kill "${pids[@]}" 2>/dev/null; [ -z "$launcher" ] || kill -CONT "$launcher"; wait; rm -rf "$work"' EXIT

# hang KIND: start such a job of 4 ranks in the background
hang() {
    CATENA_HANG_REPORT=2000 "$prun" -n 4 "$hang" "$1" >"$work/$1.out" \
        2>"$work/$1.err" &
    pids+=($!)
}

# says KIND PATTERN...: what is printed of the job has lines with these patterns
says() {
    local kind=$1 pattern missing=
    shift
    for pattern in "$@"; do
        grep -qE -- "$pattern" "$out" || missing=$pattern
    done
    [ -z "$missing" ]
    verdict "hangs: $kind" $? "no line '$missing'"
}

# ask KIND PATTERN...: once all ranks are where they hang, the answer comes within
# 2 seconds of asking from outside
ask() {
    local process
    process=$(head -1 "$work/$1.out")
    poll 20 asked "$process" "${@:2}"
    says "$@"
}
asked() {
    timeout 2 "$info" --job "$1" >"$out" 2>"$err"
    local pattern
    for pattern in "${@:2}"; do
        grep -qE -- "$pattern" "$out" || return 1
    done
}

started() { [ -s "$work/$1.out" ]; }

kinds=(never refused barrier_allreduce roots stopped split_barrier two_groups neighbors
    finalize late lengths other other_request tests progress starts start_other
    start_long_ago start_neighbors cart cart_made create
    many_groups groups descriptors)
for kind in "${kinds[@]}"; do
    hang "$kind"
done
for kind in "${kinds[@]}"; do
    poll 30 started "$kind" || verdict "hangs: $kind" 1 "it has not started"
done

ask never 'call 2 of the world: allreduce, 8 B, sum of double: 0 2-3; not there yet, in no call: 1$' \
    '^rank 1, .*: returned from allreduce, 8 B, sum of double, call 1 of the world$'
ask refused 'call 2 of the world: bcast, 8 B, root 0: 0 2-3; barrier: 1$'
ask barrier_allreduce 'call 2 of the world: allreduce, 8 B, sum of double: 0 2-3; barrier: 1$' \
    '^rank 1, .*: in barrier, .*; waits for'
ask roots 'reduce, 8 B, sum of double, root 0: 0; reduce, 8 B, sum of double, root 1: 1' \
    'call 4 of the world: not there yet, in another call: 0-1; barrier: 2-3$'
ask stopped 'call 2 of the world: barrier: 0 2-3; not there yet, stopped: 1$' \
    '^rank 1, process [0-9]*, stopped: '
ask split_barrier 'call 2 of the world: group_split: 0 2-3; barrier: 1$'
ask two_groups \
    'call 1 of group [0-9a-f]* \(2 ranks\): barrier: 0; not there yet, in another call: 1$' \
    'call 1 of group [0-9a-f]* \(4 ranks\): not there yet, in another call: 0; barrier: 1-3$|\(4 ranks\): .*barrier: 1'
ask neighbors 'neighbor_alltoall, 8 B: 0 2; not there yet, in no call: 1' \
    '^rank 0, .*waits for rank 1'
ask finalize 'call 2 of the world: barrier: 0 2-3; finalize: 1$'
ask late 'call 2 of the world: allreduce, 8 B, sum of double: 0 2-3; not there yet, in no call: 1$' \
    '^rank 0, .*: started allreduce'
for kind in other other_request; do
    ask "$kind" 'call 3 of the world: allreduce, 8 B, sum of double: 0 2-3; not there yet, in no call: 1$' \
        '^rank 0, .*: started allreduce, .* call 3 of the world; waits' \
        '^rank 1, .*: returned from barrier, call 1 of group'
    ! grep -q '^call .*barrier' "$out"
    verdict "hangs: $kind: a call that is over" $? "$(grep '^call' "$out")"
done
for kind in tests progress; do
    ask "$kind" 'call 2 of the world: allreduce, 8 B, sum of double: 0 2-3; not there yet, in no call: 1$' \
        '^rank 0, .*: started allreduce, .*; waits for [0-9.]* s \(.*\)$'
done
ask starts 'start 3 of call 2 of the world: allreduce, 8 B, sum of double: 0 2-3; not started, in no call: 1$' \
    '^rank 0, .*: started allreduce, 8 B, sum of double, start 3 of call 2 of the world; waits' \
    '^rank 1, .*: completed allreduce, 8 B, sum of double, start 2 of call 2 of the world$'
ask start_other \
    'start 3 of call 2 of the world: allreduce, 8 B, sum of double: 0 2-3; not started, in another call: 1$' \
    'start 1 of call 3 of the world: not started, in another call: 0 2-3; barrier: 1$'
ask start_long_ago 'start 3 of call 2 of the world: allreduce, 8 B, sum of double: 0 2-3; not started in its last 256 calls, in no call: 1$'
ask start_neighbors 'start 3 of call [0-9]* of .*: neighbor_alltoall, 8 B: 0 2; not started, in no call: 1'
ask cart 'call 2 of the world: cart_create: 0 2-3; group_split \(returned\): 1$' \
    '^rank 0, .*: in cart_create, call 2 of the world; waits'
ask cart_made '^rank 0, .*: returned from '
! grep -q '^call' "$out"
verdict "hangs: a creation is over" $? "$(grep '^call' "$out")"
ask create '^rank 0, .*: in group_create, call 1 of group [0-9a-f]* \(2 ranks\); waits .*waits for rank 1\)$' \
    'call 1 of group [0-9a-f]* \(2 ranks\): group_create: 0; 1 ranks are on other nodes or do not know the group$'
ask many_groups 'call 1 of group [0-9a-f]* \(4 ranks\): barrier: 0 2-3; not there yet, in no call: 1$'
ask groups '^ranks are in calls of groups without ids, which are not listed: those beyond what a rank records, ' \
    '^rank 0, .*: in barrier, call 1 of a group; waits'
ask descriptors 'call 2 of the world: allreduce, 8 B, sum of double: 0 2-3; not there yet, in no call: 1$'
# The only rank that computes; it starts last.
hang loop
poll 30 started loop || verdict "hangs: loop" 1 "it has not started"
ask loop 'call 2 of the world: bcast, 8 B, root 0: 0 2-3; not there yet, in no call: 1$' \
    '^rank 1, process [0-9]*, running: '

# Lengths that differ are an error on both sides.
cp "$work/lengths.err" "$out"
says lengths ':[023]\] ERROR .*the vector of rank 1 has .*; expected 8' \
    ':1\] ERROR .*the vector of rank 0 has 8 bytes'

# A rank has died, and the launcher, which is stopped, has not seen it.
"$prun" -n 4 "$hang" stopped >"$work/dead.out" 2>"$work/dead.err" &
pids+=($!)
launcher=${pids[-1]}
poll 30 started dead
stopped_rank() { # the rank that has stopped itself
    local process
    for process in $(pgrep -P "$launcher" hang); do
        ! grep -q '^State:.*T' "/proc/$process/status" || victim=$process
    done
    [ -n "${victim:-}" ]
}
poll 10 stopped_rank
kill -STOP "$launcher"
kill -KILL "$victim"
ask dead 'call 2 of the world: barrier: 0 2-3; not there yet, dead: 1$' \
    '^rank 1, process [0-9]*, dead: has ended without catena_finalize; returned from allreduce'
kill -CONT "$launcher"
wait "$launcher" 2>/dev/null
unset 'pids[-1]'
launcher=

# A rank that has waited for long prints the same, once a node.
reported() { grep -q 'WARN call' "$work/$1.err"; }
for kind in never tests progress; do
    poll 10 reported "$kind"
    cp "$work/$kind.err" "$out"
    says "a rank reports $kind" 'rank [023] has waited for 2 s' \
        'call 2 of the world: allreduce, 8 B, sum of double: 0 2-3; not there yet, in no call: 1$'
    [ "$(grep -c 'has waited for' "$out")" -eq 1 ]
    verdict "hangs: one report a node: $kind" $?
done

kill "${pids[@]}"
wait "${pids[@]}" 2>/dev/null
pids=()

# Ranks of other nodes do so when they hear of it, also without a limit.
UCX_TLS=tcp,self "$prun" -n 5 --ppn 2 sh -c \
    '[ "$PMIX_RANK" = 2 ] && export CATENA_HANG_REPORT=1000 || export CATENA_HANG_REPORT=inf
    exec "$@"' - "$hang" barrier_allreduce >"$work/nodes.out" 2>"$work/nodes.err" &
pids+=($!)
all_told() { [ "$(grep -c 'WARN call 2 of the world' "$work/nodes.err")" -ge 3 ]; }
poll 20 all_told
cp "$work/nodes.err" "$out"
says 'other nodes report' 'rank 2 has waited for 1 s' \
    'rank 2 of another node has waited for long; the ranks of this node' \
    'call 2 of the world: allreduce, 8 B, sum of double: 0; barrier: 1; 3 ranks' \
    'call 2 of the world: allreduce, 8 B, sum of double: 2-3; 3 ranks' \
    'call 2 of the world: allreduce, 8 B, sum of double: 4; 4 ranks'
sleep 2.5 # the reports are messages, which begin the waits anew
[ "$(grep -c 'has waited for' "$work/nodes.err")" -eq 3 ]
verdict "hangs: each node reports once" $?

"$prun" -n 4 --timeout 1 "$hang" never >"$work/timeout.out" 2>"$out"
says 'prun --timeout' \
    'call 2 of the world: allreduce, 8 B, sum of double: 0 2-3; not there yet, in no call: 1$' \
    'ran longer than --timeout'

# At USR2 prun asks all its nodes; the job goes on.
CATENA_HANG_REPORT=inf UCX_TLS=tcp,self "$prun" -n 5 --ppn 2 --map-by node "$hang" \
    barrier_allreduce >"$work/usr2.out" 2>"$work/usr2.err" &
usr2=$!
pids+=("$usr2")
there() { [ -s "$work/usr2.out" ]; }
poll 30 there
at_usr2=('^call 2 of the world: allreduce, 8 B, sum of double: 0 3; 3 ranks are on other nodes'
    '^call 2 of the world: barrier: 1; allreduce, 8 B, sum of double: 4; 3 ranks'
    '^call 2 of the world: allreduce, 8 B, sum of double: 2; 4 ranks are on other nodes')
explained() {
    local pattern
    kill -USR2 "$usr2"
    sleep 0.3
    for pattern in "${at_usr2[@]}"; do
        grep -qE "$pattern" "$work/usr2.err" || return 1
    done
}
poll 10 explained
cp "$work/usr2.err" "$out"
says 'prun at USR2' "${at_usr2[@]}"
kill -0 "$usr2"
verdict "hangs: prun goes on after USR2" $?

# What is no rank is said, not shown: prun is one such process.
"$info" --job "$usr2" >"$out" 2>"$err"
[ $? -eq 1 ] && grep -qE "process $usr2: it is no rank .*pgrep -P $usr2.* kill -USR2 $usr2 " "$err"
verdict "hangs: the number of the launcher" $?
"$info" --job rank0 >"$out" 2>"$err"
[ $? -eq 2 ]
verdict "hangs: no number" $?
exit $failed
