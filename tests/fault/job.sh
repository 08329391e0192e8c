# Sourced by launcher.sh and kill.sh: jobs of prun, and their leftovers. Every
# process of a case has PRUN_TEST with a unique value in its environment, by which
# it is found anywhere. The script ends only processes that it started, by number.
# shellcheck source=tests/script.sh
. "$(dirname "$0")/../script.sh"
client=$build/tests/fault/client
input=/dev/null
serial=0
why=

now() { began=${EPOCHREALTIME/./}; } # in microseconds

# mark: begin a case. start ARGS...: run prun in the background; sets pid.
mark() {
    serial=$((serial + 1))
    export PRUN_TEST=$$.$serial
    : >"$out"
    : >"$err"
    now
}
start() {
    mark
    "$prun" "$@" >"$out" 2>"$err" <"$input" &
    pid=$!
}

# finish: wait for prun; sets rc and took.
finish() {
    poll 60 not_running "$pid" || { kill -9 "$pid"; fail "still there"; }
    wait "$pid" 2>/dev/null
    rc=$?
    took=$(((${EPOCHREALTIME/./} - began) / 1000))
}
not_running() { ! kill -0 "$1" 2>/dev/null; }

run() { start "$@"; finish; }

# await PATTERN COUNT: wait for lines in the output of the job
await() { poll 60 has_lines "$1" "$2" || fail "no $2 lines '$1'"; }
has_lines() {
    local line count=0
    while read -r line; do
        [[ $line =~ $1 ]] && count=$((count + 1))
    done <"$out"
    [ $count -ge "$2" ]
}

fail() { why=${why:-$1}; }
expect() { [ "$2" = "$3" ] || fail "$1 '${2:0:300}', not '${3:0:300}'"; }
expect_rc() { expect "exit code" "$rc" "$1"; }
expect_out() {
    local lines
    mapfile -t lines <"$out"
    if [ ${#lines[@]} -gt 1 ]; then
        expect output "$(sort "$out")" "$1"
    else
        expect output "${lines[*]}" "$1"
    fi
}
expect_within() { [ "$took" -le "$1" ] || fail "took $took ms, not $1"; }

# expect_err PATTERN: one line on stderr with these facts
expect_err() {
    local lines
    mapfile -t lines <"$err"
    expect "lines on stderr" ${#lines[@]} 1
    [[ ${lines[*]} =~ $1 ]] || fail "stderr lacks '$1'"
}

# Nothing of the case may stay behind: processes, except zombies (no memory map),
# files, shared memory. Sets left.
is_clean() {
    local process processes=(/proc/[0-9]*/environ) shm=/dev/shm
    [ "$SCRIPT_RUNS" != shared ] || shm=/nowhere
    shopt -s nullglob dotglob
    left=("$TMPDIR"/* $shm/*)
    shopt -u nullglob dotglob
    for process in $(grep -lzsx "PRUN_TEST=$$.$serial" "${processes[@]}"); do
        process=${process%/environ}
        read -r <"$process/maps" && left+=("$process")
    done 2>/dev/null
    [ ${#left[@]} -eq 0 ]
}
expect_clean() { poll 10 is_clean || fail "left: ${left[*]}"; }

# done_ NAME: print the result of the case
done_() {
    expect_clean
    verdict "$1" "${#why}" "$why"
    why=
}

# is NAME CODE OUTPUT ARGS...: a job; OUTPUT is sorted, "-" for any
is() {
    run "${@:4}"
    expect_rc "$2"
    [ "$3" = - ] || expect_out "$3"
    done_ "$1"
}

# refuses: for each line "CODE|FACT|ARGUMENTS" of stdin a job that does not start.
# WORK in the arguments is $work.
refuses() {
    local code fact arguments
    mark
    while IFS='|' read -r code fact arguments; do
        # shellcheck disable=SC2086
        "$prun" ${arguments//WORK/$work} >"$out" 2>"$err" </dev/null &
        pid=$!
        finish
        expect_rc "$code"
        expect_err "$fact"
        verdict "refuses $arguments" "${#why}" "$why"
        why=
    done
    done_ "nothing is left of refused jobs"
}

# A shell that waits for the end, and reports it.
loop='echo ready; while :; do sleep 0.05; done'
