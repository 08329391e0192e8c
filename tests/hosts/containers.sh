#!/usr/bin/env bash
# Ranks of one host in containers of their own, which are emulated by PID
# namespaces: with one /dev/shm they share a heap there; with a /dev/shm each they
# are nodes of one rank. Collectives are checked, a rank is killed, and nothing
# stays behind in /dev/shm.
# usage: tests/hosts/containers.sh BUILD_DIR [long]: also under mpirun, and without a launcher
set -u
# shellcheck source=tests/script.sh
. "$(dirname "$0")/../script.sh"
launched=$build/tests/hosts/launched
turns=$build/tests/fault/turns
job=
trap '[ -z "$job" ] || kill "$job" 2>/dev/null; wait; rm -rf "$work"' EXIT
if ! unshare --pid --fork --mount-proc --ipc true 2>"$err"; then
    echo "skip - containers: unshare is not permitted: $(head -1 "$err")"
    exit 0
fi

# container NAME SCRIPT: a program that runs its arguments in a container, not as
# its first process, after the script
container() {
    printf '%s\n' '#!/bin/sh' "exec unshare --pid --fork --mount-proc --ipc \\" \
        "    sh -c '$2 \"\$@\"; exit \$?' - \"\$@\"" >"$work/$1"
    chmod +x "$work/$1"
}
container shared ''
container private 'mount -t tmpfs none /dev/shm;'

# start COMMAND...: in the background
start() {
    "$@" >"$out" 2>"$err" &
    job=$!
}
ended() { ! kill -0 "$job" 2>/dev/null; }
# finish SECONDS: wait for its end; sets status, 255: it did not end
finish() {
    status=255
    poll "$1" ended || return
    wait "$job"
    status=$?
    job=
}
# said COUNT PATTERN: so many lines on stderr
said() { [ "$(grep -cE -- "$2" "$err")" = "$1" ]; }
# clean: no segment, and no rank of this test
victims() {
    local process
    for process in $(pgrep -x turns); do
        [ "/proc/$process/cwd" -ef "$work" ] && echo "$process"
    done
}
clean() { [ -z "$(find /dev/shm -name 'catena*')$(victims)" ]; }

# right LAYOUT WARNINGS CONTAINER LAUNCHER...
right() {
    start timeout 60 "${@:4}" "$work/$3" "$launched"
    finish 61
    [ "$status" = 0 ] && grep -qx "layout $1, boot pmix" "$out" &&
        said "$2" 'WARN .*several PID namespaces' && clean
    verdict "${4##*/}, $3 /dev/shm: right results of layout $1" $?
}

# killed CONTAINER LAUNCHER...: a rank dies, and the others end
killed() {
    cd "$work" || exit 1
    start timeout 60 "${@:2}" "$work/$1" "$turns" "$work/never"
    cd - >/dev/null || exit 1
    poll 30 grep -qs running "$out" && kill -KILL "$(victims | tail -1)"
    verdict "${2##*/}, $1 /dev/shm: a rank to kill" $?
    finish 10
    [ "$status" != 0 ] && [ "$status" != 255 ] && poll 5 clean
    verdict "${2##*/}, $1 /dev/shm: the others end, and nothing is left" $? "status $status"
}

right 4 0 shared "$prun" -n 4
right 1+1+1+1 1 private "$prun" -n 4
killed shared "$prun" -n 4

# A rank outside cannot be told that others are in containers.
start timeout 60 "$prun" -n 1 "$launched" : -n 3 "$work/shared" "$launched"
finish 61
# Each rank may say so before the job ends, since the others are out of its reach.
[ "$status" = 1 ] && clean &&
    grep -q 'ERROR heap: local rank 0 is outside .* --pid=host' "$err"
verdict "containers: an error if only local rank 0 is in none" $? "status $status"
[ "${2:-}" = long ] || exit $((failed > 0))

killed private "$prun" -n 4
right 2+2 0 shared "$prun" -n 4 --ppn 2
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
if command -v mpirun >/dev/null; then
    right 4 0 shared mpirun --oversubscribe -n 4
    right 1+1+1+1 1 private mpirun --oversubscribe -n 4
    killed shared mpirun --oversubscribe -n 4
    killed private mpirun --oversubscribe -n 4
else
    echo "skip - containers: there is no mpirun"
fi
start timeout 60 "$prun" -n 1 "$work/shared" "$launched" : -n 3 "$launched"
finish 61
[ "$status" = 0 ] && grep -qx 'layout 4, boot pmix' "$out" && clean
verdict "containers: right results if only local rank 0 is in one" $? "status $status"

# Process numbers of other namespaces are neither used nor shown as if they were
# of this one.
CATENA_LOG_LEVEL=debug CATENA_HANG_REPORT=200 start timeout 60 "$prun" -n 2 "$work/shared" \
    "$build/tests/fault/hang" never
poll 20 grep -q 'rank 1, process [0-9]*, of another PID namespace' "$err"
verdict "containers: a report of a hang does not look for processes of others" $?
said 1 'INFO the ranks of this host are in several PID namespaces: '
verdict "containers: one rank says what is shared" $?
kill "$job"
finish 10

# Deaths are found over the network.
start timeout 60 "$prun" --continuous -n 4 "$work/shared" "$build/tests/hosts/survivors"
finish 61
grep -qx 'step 5: 3 ranks' "$out" && said 1 'CATENA_FAILURES=return they are several nodes' && clean
verdict "containers: the other ranks go on when one dies" $?

# Without a launcher.
without() {
    local rank pids=() wrong=0
    for rank in 0 1 2; do
        CATENA_BOOT=tcp://127.0.0.1:24710 CATENA_BOOT_RANK=$rank CATENA_BOOT_SIZE=3 \
            timeout 60 "$work/$1" "$launched" &
        pids+=($!)
    done >"$out" 2>"$err"
    for rank in "${pids[@]}"; do
        wait "$rank" || wrong=1
    done
    [ $wrong = 0 ] && grep -qx "layout $2, boot tcp" "$out" &&
        said "$3" 'WARN .*several PID namespaces' && clean
    verdict "tcp, $1 /dev/shm: right results of layout $2" $?
}
without shared 3 0
without private 1+1+1 1
exit $((failed > 0))
