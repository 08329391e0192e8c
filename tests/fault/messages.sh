#!/usr/bin/env bash
# What a job prints when something is wrong: one line for all ranks that would say
# the same, and none lost.
# usage: tests/fault/messages.sh BUILD_DIR
set -u
# shellcheck source=tests/script.sh
. "$(dirname "$0")/../script.sh"
errors=$build/tests/fault/errors
deny=$build/tests/fault/deny
for name in $(compgen -e | grep -E '^(CATENA|UCX|PMIX|PMI|OMPI|SLURM|PALS|FLUX)_') RANK WORLD_SIZE; do
    unset "$name"
done

# says NAME LINES PATTERN COMMAND...: the command writes so many lines of catena to
# stderr, at least one has the pattern, and at most one line is of prun. Its TMPDIR and
# /dev/shm are empty afterwards. LINES 0: none of catena
says() {
    local why='' lines
    "${@:4}" >"$out" 2>"$err"
    status=$?
    lines=$(grep -c '^\[catena' "$err")
    [ "$lines" = "$2" ] || why="$lines lines of catena, not $2"
    [ "$2" = 0 ] || grep -qE -- "$3" "$err" || why="no line '$3'"
    [ "$(grep -c '^prun: ' "$err")" -le 1 ] || why="several lines of prun"
    [ -z "$(ls -A "$TMPDIR")" ] || why="left in TMPDIR: $(ls -A "$TMPDIR")"
    [ "$SCRIPT_RUNS" = shared ] || [ -z "$(ls -A /dev/shm)" ] || why="left in /dev/shm"
    verdict "messages: $1" "${#why}" "$why"
}
# A job of four ranks on a node, and one on two virtual nodes.
job() { "$prun" --timeout 20 -n 4 "$@"; }
nodes() { job --ppn 2 "$@"; }
# with VARIABLE=VALUE COMMAND...
with() { local -x "$1"; "${@:2}"; }

# --- settings ---

for setting in LOG_LEVEL=foo HEAP_SIZE=1 BCAST_ALGORITHM=none TUNING=nope BOOT=tcp://bad:0; do
    says "CATENA_$setting" 1 "ERROR .*${setting%%=*}" \
        with "CATENA_$setting" job "$errors" nothing
done
says "a hierarchy without a top" 1 "ERROR hierarchy 'node:shm' ends with 2 .*append network:ucx" \
    with CATENA_HIERARCHY=node:shm nodes "$errors" barrier
says "an unknown setting" 1 'WARN CATENA_WIAT is not a setting.* CATENA_WAIT' \
    with CATENA_WIAT=1 job "$errors" nothing
says "an unknown setting of one rank alone" 1 ':3\] WARN CATENA_WIAT is not a setting' \
    "$prun" -n 3 "$errors" nothing : -n 1 -x CATENA_WIAT=1 "$errors" nothing
says "a newline in a setting" 1 'found "a\?b"' \
    with CATENA_LOG_LEVEL=$'a\nb' job "$errors" nothing
says "a setting of one rank alone" 1 '\[catena [^]]*\] ERROR CATENA_WAIT: .*"foo"' \
    "$prun" -n 3 "$errors" nothing : -n 1 -x CATENA_WAIT=foo "$errors" nothing
# The first rank that ends ends the job, so each waits for the word of the other.
mkfifo "$work/first" "$work/second"
# shellcheck disable=SC2016
both='"$2" nothing; code=$?; echo >"$0" & read -r <"$1"; wait; exit $code'
says "two ranks with different bad settings" 2 'found "bar"' "$prun" --timeout 20 \
    -n 1 -x CATENA_WAIT=foo sh -c "$both" "$work/first" "$work/second" "$errors" : \
    -n 1 -x CATENA_WAIT=bar sh -c "$both" "$work/second" "$work/first" "$errors"

# --- the machine ---

says "no transport of UCX" 1 'ERROR UCX found no network: .*UCX_TLS is foo' \
    with UCX_TLS=foo nodes "$errors" nothing
says "no network device" 1 'ERROR UCX cannot reach other ranks: .*CATENA_NET_DEVICES' \
    with CATENA_NET_DEVICES=none0 nodes "$errors" nothing
[ "$status" = 61 ]
verdict "messages: its status is CATENA_ERR_TRANSPORT" $? "-$status"
says "a heap beyond /dev/shm" 1 'ERROR heap: .*/dev/shm.*CATENA_HEAP_SIZE' \
    "$deny" memfd_create "$prun" -n 4 -x CATENA_HEAP_SIZE=4000t "$errors" nothing
# a /dev/shm of 8 MiB, of this command alone
if unshare -m mount -t tmpfs none /dev/shm 2>/dev/null; then
    small() {
        unshare -m sh -c 'mount -t tmpfs -o size=8m none /dev/shm
            "$@"
            status=$?
            ls /dev/shm >"$0"
            exit $status' "$work/left" "$@"
    }
    says "a small /dev/shm" 1 'WARN heap: exhausted .*; increase CATENA_HEAP_SIZE' \
        small "$deny" memfd_create "$prun" -n 2 "$errors" nothing
    [ "$status" != 0 ] && [ ! -s "$work/left" ]
    verdict "messages: nothing is left in a small /dev/shm" $?
fi
says "attach denied" 0 '' "$deny" process_vm_readv "$prun" -n 4 "$errors" nothing
says "few open files" 1 'ERROR heap: .*raise the limit of open files \(ulimit -n\)' \
    job sh -c 'ulimit -n 8; exec "$@"' - "$errors" nothing

# --- calls ---

says "a wrong root on all ranks, twice" 2 'ERROR bcast: root is -1' job "$errors" root
says "ranks whose stderr is a file of their own" 0 '' \
    job sh -c 'exec "$@" 2>"$0.$PMIX_RANK"' "$work/own" "$errors" root
[ "$(cat "$work"/own.? | grep -c 'ERROR bcast: root is -1')" = 8 ]
verdict "messages: each of them has all messages" $?
says "a wrong root on one rank" 1 ':1\] ERROR bcast: root is -1' job "$errors" root_of_one
says "lengths that differ" 2 'ERROR allreduce: .*rank 1 has [0-9]+ chunks of [0-9]+ bytes; expected 8 bytes; ' \
    job "$errors" length
says "lengths that differ by a few bytes" 2 'ERROR allreduce: .*rank 1 has 16 bytes; expected 8 bytes; ' \
    job "$errors" length_by_one
job "$errors" length_found_late 2>"$err"
grep -q 'ERROR allreduce: the vector' "$err" && ! grep -q 'no last error' "$err"
verdict "messages: a rank that another one has told knows why" $?
says "no memory" 1 'WARN heap: exhausted' nodes "$errors" memory
says "groups that are kept" 1 'WARN catena_finalize: 1 group not freed' nodes "$errors" keep
says "all messages, with the level info" 4 '' \
    with CATENA_LOG_LEVEL=info job sh -c '"$@" 2>&1 | grep WARN >&2' - "$errors" keep

# --- ends ---

says "a rank that is killed" 0 '' job "$errors" killed
grep -qE '^prun: rank 1 .*was killed by signal 9' "$err"
verdict "messages: and prun says so" $?
# The shell stays, so that prun does not end the job first.
says "a rank that leaves" 1 'ERROR lost rank 1: it has ended without catena_finalize' \
    nodes sh -c '"$@"; sleep 1' - "$errors" leaves
says "abort" 1 ':1\] ERROR catena_abort: .* code 3' job "$errors" aborts
says "a timeout" 0 '' "$prun" --timeout 0.3 -n 4 --ppn 2 "$errors" hang
grep -q '^prun: the job ran longer than --timeout 0.3 seconds' "$err"
verdict "messages: and prun says so once" $?

# --- a simulated job, and another launcher ---

says "simulated ranks" 1 'ERROR CATENA_LOG_LEVEL' \
    with CATENA_LOG_LEVEL=foo "$bench" --sim hpc-b --nodes 2 --ppn 4 bcast -m 8:8
if command -v mpirun.openmpi >"$out"; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    says "mpirun" 1 'ERROR CATENA_LOG_LEVEL' \
        with CATENA_LOG_LEVEL=foo timeout 20 mpirun.openmpi --oversubscribe -n 4 "$errors" nothing
fi
exit $((failed > 0))
