#!/usr/bin/env bash
# Statistics (CATENA_STATS) and traces (CATENA_TRACE), of real and of simulated ranks.
# usage: tests/observe/run.sh BUILD_DIR
set -u
# shellcheck source=tests/script.sh
. "$(dirname "$0")/../script.sh"
program=$build/tests/observe/observed
trace=$work/trace

# checked NAME ARGUMENTS...: check the trace
checked() { try "$1" python3 "$here/trace.py" "$trace" "${@:2}"; }

# ---- real ranks ----

try "observe: a program of 4 ranks with statistics and a trace" \
    "$prun" -n 4 --ppn 2 -x CATENA_STATS=1 -x "CATENA_TRACE=$trace" "$program"
cp "$err" "$work/stats"
checked "observe: its trace" 4 barrier=12 allreduce=28 alltoall=8 wait=8 compute=4 finalize=0 put=1+
# row NAME RANKS CALLS BYTES [GROUP]: a line of the table
row() {
    awk -v g="${5:-world}" -v n="$1" -v r="$2" -v c="$3" -v b="$4" '
        $3 == n && $2 == r && $4 == c && $5 == b && (g == $1 || g == "any" && $1 != "world") &&
        $6 <= $7 && $7 <= $8 && $9 >= 0 && $9 <= 100 {found++}
        END {exit found != (g == "any" ? 2 : 1)}' "$work/stats"
    verdict "observe: statistics of $1, $2 ranks" $? "$(cat "$work/stats")"
}
row barrier 4 3 0
row allreduce 4 4 128
row alltoall 4 2 512
row alltoallv 4 1 40 # 1 + 2 + 3 + 4 of each rank
row group_split 4 1 0
row allreduce 2 1 16 any # of each half
[ "$(grep -c 'CATENA_STATS' "$work/stats")" = 1 ]
verdict "observe: one table a job" $?

"$prun" -n 4 -x "CATENA_TRACE=$trace" "$program" 1 >"$out" 2>&1
checked "observe: an old trace is replaced" 4 barrier=12 put=0
"$prun" -n 3 -x "CATENA_TRACE=$trace" "$program" kill >"$out" 2>&1
checked "observe: the trace of a job that is killed is JSON, too" 3 --cut allreduce=1000+

"$prun" -n 3 -x "CATENA_TRACE=$trace" "$program" abort >"$out" 2>&1
checked "observe: and of one that a rank ends" 3 --cut allreduce=1+
CATENA_BOOT=tcp://127.0.0.1:7777 CATENA_BOOT_RANK=0 CATENA_BOOT_SIZE=1 CATENA_BOOT_NODE='a"b\c' \
    CATENA_TRACE=$trace \
    "$program" >"$out" 2>"$err"
checked "observe: a node with an odd name" 1 barrier=3
mkdir "$work/small"
if mount -t tmpfs -o size=900k none "$work/small" 2>/dev/null; then
    trace=$work/small/trace
    "$prun" -n 3 -x "CATENA_TRACE=$trace" "$program" kill >"$out" 2>"$err"
    checked "observe: a file without room stays JSON" 3 --cut
    umount "$work/small"
    trace=$work/trace
fi

"$prun" -n 2 -x "CATENA_TRACE=$work/none/trace" "$program" >"$out" 2>"$err"
[ $? -eq 0 ] && grep -q "none/trace' cannot be written (No such file or directory)" "$err"
verdict "observe: a file that cannot be made is a warning" $?
"$prun" -n 2 -x CATENA_TRACE=/dev/full "$program" >"$out" 2>"$err"
[ $? = 0 ] && grep -q "'/dev/full' cannot be written (" "$err"
verdict "observe: so is a device without room" $?
"$prun" -n 2 -x CATENA_TRACE=/dev/null "$program" >"$out" 2>"$err"
[ $? = 0 ] && ! grep CATENA_TRACE "$err" >"$out"
verdict "observe: no warning of a device that takes everything" $?
"$prun" -n 2 -x CATENA_STATS=maybe "$program" >"$out" 2>"$err"
[ $? != 0 ] && grep -q 'CATENA_STATS: expected on or off (y or n), found "maybe"' "$err"
verdict "observe: a value that is none" $?

# ---- simulated ranks ----

simulate() {
    CATENA_STATS=${stats:-off} CATENA_TRACE=$trace "$bench" --sim hpc-b --nodes 4 --ppn 4 \
        alltoall -m 16k:16k -i 1 --warmup 1 "$@" >"$out" 2>"$err"
}
stats=on simulate -a onmpml
grep -qE '^world +16 +alltoall +2 +524288 ' "$err"
verdict "observe: statistics of simulated ranks" $?
grep -v '^simulator' "$out" >"$work/observed"
checked "observe: a trace of 16 simulated ranks" 16 alltoall=32 gather=96+ scatter=96+ long=96
trace='' simulate -a onmpml
grep -v '^simulator' "$out" | diff "$work/observed" - >"$err"
verdict "observe: it takes as long as without an observer" $?
trace=$work/trace stats=on simulate -a onmpml --sizes-only
grep -q 'no statistics, since this simulation moves no data' "$err"
verdict "observe: no statistics without data" $?
exit "$((failed > 0))"
