#!/bin/bash
# Tests of the launcher: launcher.sh BUILD_DIR
#
# Prints one line per case and a summary; exit status 0 if none failed.
#
# Every process of a case carries the variable PRUN_TEST with a value of its
# own, so what is left over is found wherever it went. Nothing is ever ended
# but by the number of a process that the script started.

set -u
build=$(realpath "$1")
prun=$build/tools/prun client=$build/tests/fault/client
[ -x "$prun" ] && [ -x "$client" ] || { echo "no $prun or $client" >&2; exit 2; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/tmp"
export TMPDIR=$work/tmp
passed=0 failed=0 serial=0
out=$work/out err=$work/err
rc= took= why=

now_ms() { local t=${EPOCHREALTIME/./}; echo $((t / 1000)); }

# Processes of the case at hand.
remaining() {
    grep -lzsx "PRUN_TEST=$$.$serial" /proc/[0-9]*/environ 2>/dev/null |
        sed 's|/proc/||; s|/environ||' | while read -r pid; do
        # Without a memory map it is a zombie, or ours before its exec.
        [ -s "/proc/$pid/maps" ] && [ "$pid" != "$BASHPID" ] && echo "$pid"
    done
}

# start ARGS...: run prun in the background; its number is in $pid.
start() {
    serial=$((serial + 1))
    : >"$out"
    : >"$err"
    began=$(now_ms)
    PRUN_TEST=$$.$serial "$prun" "$@" >"$out" 2>"$err" <"${input:-/dev/null}" &
    pid=$!
}

# finish [LIMIT_MS]: wait for prun; sets rc and took.
finish() {
    local limit=${1:-10000}
    while kill -0 "$pid" 2>/dev/null && [ $(($(now_ms) - began)) -lt "$limit" ]; do
        sleep 0.01
    done
    kill -9 "$pid" 2>/dev/null && why="still there after $limit ms"
    wait "$pid" 2>/dev/null
    rc=$?
    took=$(($(now_ms) - began))
}

run() { start "$@"; finish; }

# Wait until N lines match in the output of the running job.
await() {
    local pattern=$1 count=$2 until=$(($(now_ms) + ${3:-8000}))
    while [ "$(grep -c "$pattern" "$out")" -lt "$count" ]; do
        [ "$(now_ms)" -lt $until ] || { why="no $count lines '$pattern'"; return 1; }
        sleep 0.01
    done
}

fail() { [ -n "$why" ] || why=$1; }
expect_rc() { [ "$rc" = "$1" ] || fail "exit code $rc, not $1: $(head -c 300 "$err")"; }
expect_out() { [ "$(cat "$out")" = "$1" ] || fail "output '$(head -c 300 "$out")', not '$1'"; }
expect_sorted() { [ "$(sort "$out")" = "$1" ] || fail "output '$(sort "$out" | head -c 300)', not '$1'"; }
expect_err() { grep -q -- "$1" "$err" || fail "stderr '$(head -c 300 "$err")' lacks '$1'"; }
expect_err_lines() { [ "$(wc -l <"$err")" = "$1" ] || fail "$(wc -l <"$err") lines on stderr, not $1: $(head -c 300 "$err")"; }
expect_within() { [ "$took" -le "$1" ] || fail "took $took ms, more than $1"; }

# Nothing of the case may be left: processes, files, shared memory.
expect_clean() {
    local until=$(($(now_ms) + ${1:-1000})) left
    while left=$(remaining) && [ -n "$left" ] && [ "$(now_ms)" -lt $until ]; do
        sleep 0.02
    done
    [ -z "$left" ] || fail "processes left: $(for p in $left; do tr '\0' ' ' <"/proc/$p/cmdline"; done 2>/dev/null)"
    while [ -n "$(ls -A "$TMPDIR")" ] && [ "$(now_ms)" -lt $until ]; do
        sleep 0.02
    done
    [ -z "$(ls -A "$TMPDIR")" ] || fail "files left: $(ls "$TMPDIR")"
    left=$(ls /tmp /dev/shm 2>/dev/null | grep -E "^(prun|pmix|ucx).*[-._]$pid([-._]|$)")
    [ -z "$left" ] || fail "files left: $left"
}

# verdict NAME: print the line of this case.
verdict() {
    if [ -z "$why" ]; then
        echo "ok - $1"
        passed=$((passed + 1))
    else
        echo "not ok - $1: $why" | tr '\n' ' '
        echo
        failed=$((failed + 1))
    fi
    why=
}

check() { # check NAME RC ARGS...: run, compare the exit code, look for rests
    local name=$1 code=$2
    shift 2
    run "$@"
    expect_rc "$code"
    expect_clean
    verdict "$name"
}

refuse() { # refuse NAME RC WORDS ARGS...: one line on stderr with WORDS
    local name=$1 code=$2 words=$3
    shift 3
    run "$@"
    expect_rc "$code"
    expect_err_lines 1
    expect_err "$words"
    expect_clean
    verdict "refuses $name"
}

# --- exit codes ------------------------------------------------------------

check "all ranks end with 0" 0 -n 4 true
check "PMIx init, fence, finalize" 0 -n 8 "$client" fence
check "-np as mpirun has it" 0 -np 2 "$client" fence
check "exit code of one rank" 7 -n 4 "$client" exit 7 2
check "exit code of a rank without PMIx" 3 -n 4 sh -c 'exit 3'
run -n 4 "$client" exit 7 2
expect_err "rank 2 (pid [0-9]* on .*) exited with code 7; the other 3 ranks were ended"
expect_err_lines 1
verdict "one line says who failed and how"
check "a rank dies of SIGSEGV" 139 -n 4 "$client" raise 11 3
check "a rank dies of SIGKILL" 137 -n 4 "$client" raise 9 0
check "a rank dies of SIGABRT" 134 -n 4 "$client" raise 6 1
check "PMIx_Abort" 9 -n 4 "$client" abort 9 1
run -n 4 "$client" abort 42 3
expect_rc 42
expect_err "rank 3 .*PMIx_Abort with code 42: as asked; the other 3"
verdict "PMIx_Abort is named"
check "PMIx_Abort with code 0 is a failure" 1 -n 4 "$client" abort 0 1
check "exit 0 without PMIx_Finalize is a failure" 1 -n 4 "$client" forget 2
run -n 4 sh -c 'sleep 0.1$PMIX_RANK; exit $((PMIX_RANK + 20))'
expect_rc 20
expect_clean
verdict "the first failure decides"
run -n 4 sh -c '[ $PMIX_RANK = 2 ] && exit 5; trap "" TERM INT HUP; while :; do sleep 1; done'
expect_rc 5
expect_within 1900
expect_clean
verdict "ranks that ignore TERM are ended within a second"
run -n 4 sh -c '[ $PMIX_RANK = 2 ] && sleep 0.3 && exit 5; '"$client deaf; true"
expect_rc 5
expect_within 2200
expect_clean
verdict "deaf ranks below sh -c are ended"
run -n 3 bash -c '[ $PMIX_RANK = 1 ] && { sleep 0.3; exit 6; }; setsid sleep 300 & wait'
expect_rc 6
expect_clean
verdict "what left its process group is ended after a failure"

# --- stdio -----------------------------------------------------------------

run -n 3 --output tag sh -c 'echo one $PMIX_RANK; printf "two "; sleep 0.1; echo $PMIX_RANK'
expect_sorted "$(for r in 0 1 2; do echo "[$r] one $r"; echo "[$r] two $r"; done)"
verdict "--output tag"
run -n 2 --output tag sh -c 'printf no-newline'
expect_sorted "$(printf '[0] no-newline\n[1] no-newline')"
verdict "--output tag ends an unfinished line"
run -n 2 --output tag sh -c 'echo to-stderr >&2'
[ "$(sort "$err")" = "$(printf '[0] to-stderr\n[1] to-stderr')" ] || fail "stderr: $(cat "$err")"
expect_out ""
verdict "--output tag on stderr"
run -n 8 sh -c 'i=0; while [ $i -lt 2000 ]; do echo "line $PMIX_RANK $i of many"; i=$((i+1)); done'
expect_rc 0
[ "$(grep -cxE 'line [0-7] [0-9]+ of many' "$out")" = 16000 ] || fail "$(wc -l <"$out") lines, not 16000 whole ones"
verdict "no line is lost or torn"
run -n 2 sh -c 'head -c 3000000 /dev/zero | tr "\0" x'
[ "$(wc -c <"$out")" = 6000000 ] || fail "$(wc -c <"$out") bytes, not 6000000"
verdict "output without newlines passes"
serial=$((serial + 1))
text=$(PRUN_TEST=$$.$serial timeout 5 "$prun" -n 4 sh -c 'sleep 30 & echo said' </dev/null)
[ "$text" = "$(printf 'said\nsaid\nsaid\nsaid')" ] || fail "got '$text'"
pid=0
expect_clean
verdict "a grandchild that holds the pipe does not hold prun"
serial=$((serial + 1))
timeout 5 "$prun" -n 2 yes </dev/null 2>"$err" | head -1 >"$out"
rc=${PIPESTATUS[0]}
expect_rc 141
expect_out y
verdict "the reader of stdout goes away"
serial=$((serial + 1))
PRUN_TEST=$$.$serial timeout 5 "$prun" -n 2 --timeout 1 yes </dev/null 2>"$err" | sleep 4
rc=${PIPESTATUS[0]}
expect_rc 124
expect_clean
verdict "the reader of stdout is stuck"
serial=$((serial + 1))
PRUN_TEST=$$.$serial timeout 5 "$prun" -n 2 "$client" fence <&- >&- 2>&-
rc=$?
expect_rc 0
verdict "without stdin, stdout and stderr"
seq 1 50000 >"$work/numbers"
input=$work/numbers
run -n 3 sh -c 'sum=$(md5sum); echo "$PMIX_RANK $sum"'
none=$(md5sum </dev/null)
all=$(md5sum <"$work/numbers")
expect_sorted "$(echo "0 $all"; echo "1 $none"; echo "2 $none")"
verdict "stdin goes to rank 0"
run -n 3 --stdin 2 sh -c 'sum=$(md5sum); echo "$PMIX_RANK $sum"'
expect_sorted "$(echo "0 $none"; echo "1 $none"; echo "2 $all")"
verdict "--stdin RANK"
run -n 3 --stdin all sh -c 'sum=$(md5sum); echo "$PMIX_RANK $sum"'
expect_sorted "$(echo "0 $all"; echo "1 $all"; echo "2 $all")"
verdict "--stdin all"
run -n 2 --stdin none sh -c 'sum=$(md5sum); echo "$PMIX_RANK $sum"'
expect_sorted "$(echo "0 $none"; echo "1 $none")"
verdict "--stdin none"
run -n 2 sh -c 'exec <&-; sleep 0.1; echo done'
expect_rc 0
verdict "a rank that reads nothing"
input=

# --- environment -----------------------------------------------------------

run -n 2 -x ALPHA=beta -x GAMMA= sh -c 'echo "$ALPHA-${GAMMA-unset}-$CATENA_HOST_RANKS"'
expect_out "$(printf 'beta--2\nbeta--2')"
verdict "-x and CATENA_HOST_RANKS"
CATENA_HOST_RANKS=9 run -n 1 sh -c 'echo $CATENA_HOST_RANKS'
expect_out 9
verdict "CATENA_HOST_RANKS of the user stays"
run -n 1 --wdir /usr sh -c 'pwd'
expect_out /usr
verdict "--wdir"
run -n 1 sh -c 'printf "%s " "$@"' x -n 3 --help
expect_out "-n 3 --help "
verdict "options after the program are its own"
run -n 1 grep -E '^Sig(Blk|Ign)' /proc/self/status
expect_out "$(printf 'SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000')"
verdict "a rank inherits no signal mask"
list='ls /proc/self/fd | wc -l'
run -n 64 sh -c "[ \$PMIX_RANK = 63 ] && $list; $client fence"
expect_out 4
verdict "a rank inherits no descriptor"
check "prun below prun" 0 -n 2 "$prun" -n 2 "$client" fence
check "one rank, two PMIx programs in turn" 0 -n 2 sh -c "$client fence"

# --- binding ---------------------------------------------------------------

run -n 1 --report-bindings --bind-to core true
expect_rc 0
expect_err "rank 0 on .* is bound to core"
verdict "--report-bindings"
cores=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
input= start -n 1 --bind-to core sh -c 'grep Cpus_allowed_list /proc/self/status'
finish
one=$(awk '{print $2}' "$out")
[[ $one != *,*,*,* ]] || fail "bound to $one"
verdict "--bind-to core"
serial=$((serial + 1))
text=$(taskset -c "$cores" "$prun" -n 2 sh -c 'grep Cpus_allowed_list /proc/self/status' | sort -u)
[ "$(echo "$text" | awk '{print $2}')" = "$cores" ] || fail "'$text', not $cores"
verdict "the affinity mask of prun holds"
text=$(taskset -c "$cores" "$prun" -n 2 --bind-to core true 2>&1)
[ $? = 2 ] && [[ $text == *"--bind-to none"* ]] || fail "'$text'"
verdict "--bind-to core with too few cores"
check "--bind-to numa" 0 -n 4 --bind-to numa "$client" fence

# --- PMIx keys and virtual nodes -------------------------------------------

host=$(uname -n)
keys() { # keys NAME WHERE OPTIONS...: WHERE is each rank's node, as 0,0,1
    local name=$1 where=$2 count=0 n r peers resolved= hosts= want node locals=
    local -a of seen=()
    IFS=, read -ra of <<<"$where"
    shift 2
    for n in "${of[@]}"; do [ "$n" -ge $count ] && count=$((n + 1)); done
    names=$host
    [ $count = 1 ] || names=$(for ((n = 0; n < count; n++)); do echo "$host-vn$n"; done | paste -sd,)
    IFS=, read -ra node <<<"$names"
    for ((n = 0; n < count; n++)); do
        peers[n]=$(for r in "${!of[@]}"; do [ "${of[r]}" = $n ] && echo "$r"; done | paste -sd,)
        resolved+="${peers[n]};"
        seen[n]=0
    done
    for r in "${!of[@]}"; do
        hosts+=",${node[of[r]]}"
        locals+=",${seen[of[r]]}"
        seen[of[r]]=$((seen[of[r]] + 1))
    done
    run -n ${#of[@]} "$@" --output tag "$client" keys
    expect_rc 0
    local -a local_of
    IFS=, read -ra local_of <<<"${locals#,}"
    for r in "${!of[@]}"; do
        n=${of[r]}
        want="[$r] size=${#of[@]} univ=${#of[@]} nodes=$count list=$names lsize=${seen[n]} nsize=${seen[n]} peers=${peers[n]} lldr=${peers[n]%%,*} lrank=${local_of[r]} nrank=${local_of[r]} grank=$r node=$n host=${node[n]} env=${#of[@]} where=$where locals=${locals#,} resolved=$resolved hosts=${hosts#,}"
        grep -qxF -- "$want" "$out" || fail "rank $r: '$(grep -F "[$r] " "$out")', not '$want'"
    done
    expect_clean
    verdict "$name"
}
keys "keys on one node" 0,0,0,0 --map-by slot
keys "keys: 8 ranks, --ppn 4" 0,0,0,0,1,1,1,1 --ppn 4
keys "keys: 7 ranks, --ppn 3" 0,0,0,1,1,1,2 --ppn 3
keys "keys: 7 ranks, --map-by ppr:3:node" 0,0,0,1,1,1,2 --map-by ppr:3:node
keys "keys: 7 ranks, --ppn 3 --map-by node" 0,1,2,0,1,2,0 --ppn 3 --map-by node
keys "keys: 5 ranks, --ppn 1" 0,1,2,3,4 --ppn 1
check "cards of all nodes, with fence" 0 -n 7 --ppn 3 "$client" modex fence
check "cards of all nodes, without fence" 0 -n 7 --ppn 3 "$client" modex
check "a get that comes before the put" 0 -n 6 --ppn 2 "$client" early
check "cards for the own node" 0 -n 7 --ppn 3 "$client" local
check "events reach other ranks" 0 -n 6 --ppn 2 "$client" event

# --- signals to prun -------------------------------------------------------

for signal in USR1 USR2; do
    start -n 3 sh -c 'trap "echo got" '$signal'; echo ready; while ! [ -e '"$work"'/go ]; do sleep 0.02; done'
    if await ready 3; then
        kill -$signal "$pid"
        await got 3
        touch "$work/go"
    fi
    finish
    rm -f "$work/go"
    expect_rc 0
    expect_clean
    verdict "$signal is forwarded and ends nothing"
done
for signal in INT:130 TERM:143 HUP:129; do
    start -n 3 sh -c 'trap "echo got; exit 0" '${signal%:*}'; echo ready; while :; do sleep 0.02; done'
    await ready 3 && kill -${signal%:*} "$pid"
    finish
    expect_rc ${signal#*:}
    [ "$(grep -c got "$out")" = 3 ] || fail "$(grep -c got "$out") of 3 ranks got it"
    expect_clean
    verdict "${signal%:*} is forwarded and ends the job"
done
start -n 3 "$client" deaf
await ready 3 && kill -INT "$pid" && sleep 0.2 && kill -INT "$pid"
finish
expect_rc 130
expect_within 2000
expect_clean
verdict "a second INT ends deaf ranks at once"
start -n 3 "$client" deaf
await ready 3 && kill -TERM "$pid"
finish
expect_rc 143
expect_within 5000
expect_clean
verdict "deaf ranks are killed some seconds after TERM"
start -n 2 --timeout 0.5 "$client" deaf
finish
expect_rc 124
expect_within 2000
expect_err "timeout 0.5"
expect_err_lines 1
expect_clean
verdict "--timeout"
check "--timeout that is not reached" 0 -n 2 --timeout 20 true
start -n 2 "$client" wait
if await ready 2; then
    kill -STOP "$(awk '{print $3; exit}' "$out")"
    kill -TERM "$pid"
fi
finish
expect_rc 143
expect_within 2000
expect_clean
verdict "a stopped rank is ended"

# --- kill -9 ---------------------------------------------------------------

# Kill one rank DELAY seconds after the start.
kill_rank() {
    local delay=$1 victim= until
    start -n 8 --ppn 4 "$client" ring 20000
    sleep "$delay"
    until=$(($(now_ms) + 3000))
    while [ -z "$victim" ] && [ "$(now_ms)" -lt $until ]; do
        # The guardian leads a session; a rank does not.
        victim=$(ps -o pid=,sid=,comm= --ppid "$pid" | awk '$1 != $2 {print $1}' | shuf -n 1)
    done
    [ -n "$victim" ] || fail "no rank was seen"
    local killed
    killed=$(now_ms)
    [ -z "$victim" ] || kill -9 "$victim"
    finish
    took=$(($(now_ms) - killed))
    expect_rc 137
    expect_within 2000
    expect_clean
}
for delay in 0 0.005 0.01 0.02 0.03 0.05 0.08 0.15 0.3 0.5; do
    kill_rank $delay
    verdict "kill -9 of a rank after $delay s"
done

kill_prun() { # kill_prun DELAY ARGS...
    local delay=$1
    shift
    start "$@"
    sleep "$delay"
    kill -9 "$pid"
    wait "$pid" 2>/dev/null
    expect_clean 1500
}
for delay in 0 0.005 0.01 0.015 0.02 0.03 0.04 0.06 0.1 0.3; do
    kill_prun $delay -n 8 "$client" deaf
    verdict "kill -9 of prun after $delay s"
done
for delay in 0.01 0.03 0.3; do
    kill_prun $delay -n 4 sh -c "trap '' TERM; $client deaf; true"
    verdict "kill -9 of prun after $delay s, ranks below sh -c"
done
# More of both at random moments, for soak runs: PRUN_TEST_ROUNDS=200.
for ((round = 0; round < ${PRUN_TEST_ROUNDS:-0}; round++)); do
    delay=$(printf '0.%03d' $((RANDOM % 120)))
    kill_rank $delay
    verdict "round $round: kill -9 of a rank after $delay s"
    kill_prun $delay -n 8 sh -c "$client deaf; true"
    verdict "round $round: kill -9 of prun after $delay s"
done
kill_prun 0.3 -n 2 bash -c 'setsid sleep 300 & sleep 300; true'
verdict "kill -9 of prun, a process in a session of its own"
kill_prun 0.3 -n 2 "$prun" -n 2 "$client" deaf
verdict "kill -9 of prun above prun"

# --- many ranks ------------------------------------------------------------

start -n 256 --ppn 32 "$client" fence
finish 30000
expect_rc 0
expect_clean
echo "# 256 ranks: $took ms"
verdict "256 ranks"
start -n 256 sh -c '[ $PMIX_RANK = 200 ] && exit 4; sleep 300'
finish 30000
expect_rc 4
expect_clean 2000
verdict "256 ranks, one fails"
serial=$((serial + 1))
(ulimit -Sn 256; PRUN_TEST=$$.$serial "$prun" -n 100 sh -c 'ulimit -n' </dev/null) >"$out" 2>"$err"
rc=$?
expect_rc 0
[ "$(sort -u "$out")" = 256 ] || fail "the ranks' limit is '$(sort -u "$out")', not 256"
verdict "the limit of descriptors is raised for prun and not for ranks"

# --- what is refused -------------------------------------------------------

refuse "-n 0" 2 "whole number from 1" -n 0 true
refuse "-n x" 2 "got 'x'" -n x true
refuse "-n -3" 2 "got '-3'" -n -3 true
refuse "-n 1e9" 2 "got '1e9'" -n 1e9 true
refuse "-np without a number" 2 "got ''" -np
refuse "-n without a number" 2 "wants a value" -n
refuse "--ppn 0" 2 "--ppn wants" --ppn 0 true
refuse "--host" 2 "mpirun, srun" --host other true
refuse "-H" 2 "mpirun, srun" -H other true
refuse "--hostfile" 2 "mpirun, srun" --hostfile hosts true
refuse "--map-by socket" 2 "slot, node or ppr" --map-by socket true
refuse "--map-by ppr:x:node" 2 "got 'x'" --map-by ppr:x:node true
refuse "--map-by ppr:2:socket" 2 "slot, node or ppr" --map-by ppr:2:socket true
refuse "--ppn against --map-by" 2 "give one" --ppn 2 --map-by ppr:3:node true
refuse "--bind-to hwthread" 2 "none, core or numa" --bind-to hwthread true
refuse "--timeout soon" 2 "seconds" --timeout soon true
refuse "--timeout 0" 2 "seconds" --timeout 0 true
refuse "--stdin 4 of 2" 2 "last is 1" -n 2 --stdin 4 true
refuse "--stdin x" 2 "all or none" --stdin x true
refuse "--output file" 2 "wants tag" --output file true
refuse "--wdir that is not there" 2 "wants a directory" --wdir /nonexistent true
refuse "-x 1=2" 2 "NAME=VALUE" -x 1=2 true
refuse "an unknown option" 2 "frobnicate" --frobnicate true
refuse "an unknown letter" 2 "not one of" -q true
refuse "no program" 2 "no program" -n 2
refuse "a program that is not there" 127 "was not found" -n 4 /nonexistent/program
refuse "a name that is not in PATH" 127 "was not found" -n 4 no-such-program-here
refuse "a file that is not executable" 126 "cannot be executed" -n 4 /etc/passwd
refuse "a directory" 126 "cannot be executed" -n 4 /tmp
TMPDIR=/nonexistent run -n 1 true
expect_rc 2
expect_err_lines 1
verdict "refuses a TMPDIR that is not there"
check "--help" 0 --help
check "--version" 0 --version

echo "# $passed passed, $failed failed"
[ $failed = 0 ]
