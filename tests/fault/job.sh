# Sourced by launcher.sh and kill.sh: jobs of prun, and their leftovers. Every
# process of a case has PRUN_TEST with a unique value in its environment, by which
# it is found anywhere. The script ends only processes that it started, by number.
# shellcheck source=tests/script.sh
. "$(dirname "$0")/../script.sh"
client=$build/tests/fault/client
input=/dev/null
serial=0
why=

now_ms() { echo $((${EPOCHREALTIME/./} / 1000)); }

# Processes of the case, except zombies (no memory map) and this shell's own.
remaining() {
    local file pid
    for file in $(grep -lzsx "PRUN_TEST=$$.$serial" /proc/[0-9]*/environ); do
        pid=${file//[!0-9]/}
        [ -s "/proc/$pid/maps" ] && [ "$pid" != "$BASHPID" ] && echo "$pid"
    done 2>/dev/null
}

# mark: begin a case. start ARGS...: run prun in the background; sets pid.
mark() {
    serial=$((serial + 1))
    export PRUN_TEST=$$.$serial
    : >"$out"
    : >"$err"
    began=$(now_ms)
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
    took=$(($(now_ms) - began))
}
not_running() { ! kill -0 "$1" 2>/dev/null; }

run() { start "$@"; finish; }

# await PATTERN COUNT: wait for lines in the output of the job
await() { poll 60 has_lines "$1" "$2" || fail "no $2 lines '$1'"; }
has_lines() { [ "$(grep -c -- "$1" "$out")" -ge "$2" ]; }

fail() { why=${why:-$1}; }
expect() { [ "$2" = "$3" ] || fail "$1 '${2:0:300}', not '${3:0:300}'"; }
expect_rc() { expect "exit code" "$rc" "$1"; }
expect_out() { expect output "$(sort "$out")" "$1"; }
expect_within() { [ "$took" -le "$1" ] || fail "took $took ms, not $1"; }

# expect_err PATTERN: one line on stderr with these facts
expect_err() {
    expect "lines on stderr" "$(wc -l <"$err")" 1
    grep -qE -- "$1" "$err" || fail "stderr lacks '$1'"
}

# Nothing of the case may stay behind: processes, files, shared memory.
left_behind() {
    ls -A "$TMPDIR"
    [ "$SCRIPT_RUNS" = shared ] || ls -A /dev/shm
    remaining
}
is_clean() { [ -z "$(left_behind)" ]; }
expect_clean() { poll 10 is_clean || fail "left: $(left_behind | tr '\n' ' ')"; }

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

# A shell that waits for the end, and reports it.
loop='echo ready; while :; do sleep 0.02; done'
