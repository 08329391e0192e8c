#!/usr/bin/env bash
# The launcher.
# usage: tests/fault/launcher.sh BUILD_DIR [long]        PRUN_TEST_ROUNDS=N: soak
set -u
# shellcheck source=tests/fault/job.sh
. "$(dirname "$0")/job.sh"
if [ "${2:-}" = long ]; then
    delays="0 0.005 0.01 0.02 0.03 0.04 0.06 0.1 0.2 0.5" many=256
else
    delays="0 0.03 0.3" many=20
fi

# lines FORMAT RANK...: one line of FORMAT for each rank
lines() { printf "$1\n" "${@:2}" | sort; }

# --- exit codes ---

is "all ranks end with 0" 0 "" -n 4 true
is "PMIx init, fence, finalize" 0 "" -n 4 "$client" fence
is "-np as mpirun has it" 0 "" -np 2 "$client" fence
run -n 4 "$client" exit 7 2
expect_rc 7
expect_err 'rank 2 .*\b7\b.*\b3\b'
done_ "exit code of one rank, and one line that says it"
is "exit code of a rank without PMIx" 3 "" -n 4 sh -c 'exit 3'
for signal in 11 9 6; do
    is "a rank dies of signal $signal" $((128 + signal)) - -n 2 "$client" \
        raise $signal 1
done
run -n 4 "$client" abort 42 3
expect_rc 42
expect_err 'rank 3 .*PMIx_Abort.*\b42\b.*as asked'
done_ "PMIx_Abort, and one line that says it"
is "PMIx_Abort of the first rank but one" 9 - -n 3 "$client" abort 9 1
is "PMIx_Abort with code 0 is a failure" 1 - -n 2 "$client" abort 0 1
run -n 3 "$client" forget 2
expect_rc 1
expect_err 'rank 2 .*exited with code 0 without catena_finalize'
done_ "exit 0 without PMIx_Finalize is a failure"
is "the first failure decides" 20 "" -n 4 sh -c \
    '[ $PMIX_RANK = 0 ] && exit 20; trap "exit 21" TERM; while :; do sleep 0.05; done'
run -n 4 sh -c '[ $PMIX_RANK = 2 ] && exit 5; trap "" TERM INT HUP; '"$loop"
expect_rc 5
expect_within 2900 # of the 3 s after a user's signal
done_ "ranks that ignore TERM are ended soon"
is "deaf ranks below sh -c are ended" 5 - -n 4 sh -c \
    '[ $PMIX_RANK = 2 ] && sleep 0.3 && exit 5; '"$client deaf; true"
is "what left its process group is ended after a failure" 6 "" -n 3 bash -c \
    '[ $PMIX_RANK = 1 ] && { sleep 0.3; exit 6; }; setsid sleep 300 & wait'

# --- stdio ---

is "--output tag" 0 "$(lines '[%d] one\n[%d] two' 0 0 1 1 2 2)" -n 3 \
    --output tag sh -c 'echo one; printf t; sleep 0.1; echo wo'
is "--output tag ends an unfinished line" 0 "$(lines '[%d] open' 0 1)" -n 2 \
    --output tag sh -c 'printf open'
run -n 2 --output tag sh -c 'echo said >&2'
expect stderr "$(sort "$err")" "$(lines '[%d] said' 0 1)"
expect_out ""
done_ "--output tag on stderr"
run -n 8 sh -c 'seq -f "line $PMIX_RANK %.0f of many" 2000'
expect "whole lines" "$(grep -cxE 'line [0-7] [0-9]+ of many' "$out")" 16000
done_ "no line is lost or torn"
is "other ranks wait for the end of a line" 0 "$(printf 'half a line\nother')" -n 2 sh -c \
    'if [ $PMIX_RANK = 0 ]; then printf half; sleep 0.5; echo " a line"; else sleep 0.2; echo other; fi'
run -n 2 sh -c 'head -c 3000000 /dev/zero | tr "\0" x'
expect bytes "$(wc -c <"$out")" 6000000
done_ "output without newlines passes"
mark
timeout 20 "$prun" -n 4 sh -c 'sleep 300 & echo said' </dev/null | cat >"$out"
expect_out "$(lines said%.0s 1 2 3 4)"
done_ "a grandchild that holds the pipe does not hold prun"
mark
timeout 20 "$prun" -n 2 yes </dev/null 2>"$err" | head -1 >"$out"
rc=${PIPESTATUS[0]}
expect_rc 141
expect_out y
done_ "the reader of stdout goes away"
mark
mkfifo "$work/stuck"
exec 9<>"$work/stuck"
timeout 20 "$prun" -n 2 --timeout 0.3 yes </dev/null >"$work/stuck" 2>"$err"
rc=$?
exec 9>&-
expect_rc 124
done_ "the reader of stdout is stuck"
mark
timeout 20 "$prun" -n 2 "$client" fence <&- >&- 2>&-
rc=$?
expect_rc 0
done_ "without stdin, stdout and stderr"
seq 1 50000 >"$work/numbers"
input=$work/numbers
all=$(md5sum <"$input")
none=$(md5sum </dev/null)
sums='sum=$(md5sum); echo "$PMIX_RANK $sum"'
is "stdin goes to rank 0" 0 "$(lines '%s' "0 $all" "1 $none")" -n 2 sh -c "$sums"
is "--stdin RANK" 0 "$(lines '%s' "0 $none" "1 $all")" -n 2 --stdin 1 sh -c "$sums"
is "--stdin all" 0 "$(lines '%s' "0 $all" "1 $all")" -n 2 --stdin all sh -c "$sums"
is "--stdin none" 0 "$(lines '%s' "0 $none" "1 $none")" -n 2 --stdin none \
    sh -c "$sums"
is "a rank that reads nothing" 0 - -n 2 sh -c 'exec <&-; sleep 0.1; echo done'
input=/dev/null

# --- environment, descriptors, binding ---

is "-x and CATENA_HOST_RANKS" 0 "$(lines '%s' beta--2 beta--2)" -n 2 \
    -x ALPHA=beta -x GAMMA= sh -c 'echo "$ALPHA-${GAMMA-unset}-$CATENA_HOST_RANKS"'
CATENA_HOST_RANKS=9 is "CATENA_HOST_RANKS of the user stays" 0 9 -n 1 sh -c \
    'echo $CATENA_HOST_RANKS'
is "HWLOC_PLUGINS_PATH, which prun sets for itself, is not passed to ranks" 0 unset -n 1 sh -c \
    'echo ${HWLOC_PLUGINS_PATH-unset}'
is "--wdir" 0 /usr -n 1 --wdir /usr pwd
is "options after the program are its own" 0 "x -n 3 --help" -n 1 sh -c \
    'echo "$0 $*"' x -n 3 --help
is "a rank inherits no signal mask" 0 \
    "$(printf 'SigBlk:\t%016d\nSigIgn:\t%016d' 0 0)" -n 1 \
    grep -E '^Sig(Blk|Ign)' /proc/self/status
is "a rank inherits no descriptor" 0 4 -n 8 sh -c \
    "[ \$PMIX_RANK = 7 ] && ls /proc/self/fd | wc -l; $client fence"
is "prun below prun" 0 - -n 2 "$prun" -n 2 "$client" fence
cores=$(sed -nE 's/^Cpus_allowed_list:\t([0-9]+).*/\1/p' /proc/self/status)
allowed='grep Cpus_allowed_list /proc/self/status'
run -n 1 --report-bindings --bind-to core sh -c "$allowed"
expect_rc 0
expect_err 'rank 0 .*core'
expect "cores of a rank" "$(tr -dc , <"$out" | wc -c)" 0
done_ "--bind-to core, --report-bindings"
mark
taskset -c "$cores" "$prun" -n 2 sh -c "$allowed" | sort -u >"$out"
expect_out "Cpus_allowed_list:	$cores"
done_ "the affinity mask of prun holds"
mark
taskset -c "$cores" "$prun" -n 2 --bind-to core true 2>"$err"
rc=$?
expect_rc 2
done_ "--bind-to core with too few cores"
is "--bind-to numa" 0 - -n 2 --bind-to numa "$client" fence

# --- PMIx keys and virtual nodes ---

# keys NAME WHERE OPTIONS...: WHERE has the node of each rank, as "0 0 1"
keys() {
    local -a of=($2) size=() peers=() local_of=() names=()
    local r n hosts= resolved=
    for r in "${!of[@]}"; do
        n=${of[r]}
        local_of[r]=${size[n]:-0}
        size[n]=$((local_of[r] + 1))
        peers[n]+=${peers[n]:+,}$r
    done
    for n in "${!size[@]}"; do
        names[n]=$HOSTNAME
        [ ${#size[@]} -eq 1 ] || names[n]+=-vn$n
        resolved+="${peers[n]};"
    done
    for n in "${of[@]}"; do hosts+=,${names[n]}; done
    join() { local IFS=,; joined="$*"; }
    local list where locals
    join "${names[@]}" && list=$joined
    join "${of[@]}" && where=$joined
    join "${local_of[@]}" && locals=$joined
    for r in "${!of[@]}"; do
        n=${of[r]}
        echo "[$r] size=${#of[@]} univ=${#of[@]} nodes=${#size[@]}" \
            "list=$list lsize=${size[n]} nsize=${size[n]}" \
            "peers=${peers[n]} lldr=${peers[n]%%,*} lrank=${local_of[r]}" \
            "nrank=${local_of[r]} grank=$r node=$n host=${names[n]}" \
            "env=${#of[@]} where=$where" \
            "locals=$locals resolved=$resolved hosts=${hosts#,}"
    done >"$work/keys"
    is "keys: $1" 0 "$(sort "$work/keys")" -n ${#of[@]} "${@:3}" --output tag \
        "$client" keys
}
keys "one node" "0 0 0" --map-by slot
keys "4 ranks, --ppn 2" "0 0 1 1" --ppn 2
keys "5 ranks, --ppn 2" "0 0 1 1 2" --ppn 2
keys "5 ranks, --map-by ppr:2:node" "0 0 1 1 2" --map-by ppr:2:node
keys "5 ranks, --ppn 2 --map-by node" "0 1 2 0 1" --ppn 2 --map-by node
keys "3 ranks, --ppn 1" "0 1 2" --ppn 1
keys "6 ranks, --ppn 2+1+3" "0 0 1 2 2 2" --ppn 2+1+3
keys "6 ranks, --ppn 3+1+2 --map-by node" "0 1 2 0 2 0" --ppn 3+1+2 --map-by node
is "cards of all nodes, with fence" 0 "" -n 5 --ppn 2 "$client" modex fence
is "cards of all nodes, without fence" 0 "" -n 5 --ppn 2 "$client" modex
is "a get that comes before the put" 0 "" -n 4 --ppn 2 "$client" early
is "cards for the own node" 0 "" -n 5 --ppn 2 "$client" local
is "events reach other ranks" 0 "" -n 4 --ppn 2 "$client" event

# --- signals to prun ---

start -n 3 sh -c 'trap "echo got; exit 0" USR1'"; $loop"
await ready 3 && kill -USR1 "$pid"
finish
expect_rc 0
expect got "$(grep -c got "$out")" 3
done_ "USR1 is forwarded and ends nothing"
for signal in INT:130 TERM:143 HUP:129; do
    start -n 3 sh -c 'trap "echo got; exit 0" '"${signal%:*}; $loop"
    await ready 3 && kill -"${signal%:*}" "$pid"
    finish
    expect_rc "${signal#*:}"
    expect got "$(grep -c got "$out")" 3
    done_ "${signal%:*} is forwarded and ends the job"
done
start -n 3 "$client" deaf
await ready 3
now
kill -INT "$pid" && sleep 0.2 && kill -INT "$pid"
finish
expect_rc 130
expect_within 2900 # of the 3 s after one INT
done_ "a second INT ends deaf ranks at once"
start -n 3 "$client" deaf
await ready 3 && kill -TERM "$pid"
finish
expect_rc 143
done_ "deaf ranks are killed some seconds after TERM"
run -n 2 --timeout 0.5 "$client" deaf
expect_rc 124
expect_err '\b0\.5\b'
done_ "--timeout"
is "--timeout that is not reached" 0 "" -n 2 --timeout 20 true
start -n 2 "$client" wait
await ready 2 && kill -STOP "$(awk '{ print $3; exit }' "$out")"
now
kill -TERM "$pid"
finish
expect_rc 143
expect_within 2900
done_ "a stopped rank is ended"

# --- kill -9 ---

# A rank of the job: a child of prun that leads no session, unlike the guardian,
# which prun starts first. So it must be known as the leader of its session:
# without the guardian nothing would be cleaned up after prun.
some_rank() {
    victim=$(ps -o pid=,sid= --ppid "$pid" | awk '
        $1 == $2 { guardian = 1 }
        $1 != $2 { ranks[++n] = $1 }
        END { for (i = 1; guardian && i <= n; i++) print ranks[i] }' |
        shuf -n 1)
    [ -n "$victim" ]
}
kill_rank() { # NAME DELAY
    start -n 4 --ppn 2 "$client" ring 60000
    sleep "$2"
    poll 10 some_rank && kill -9 "$victim"
    finish
    expect_rc 137
    done_ "$1: kill -9 of a rank after $2 s"
}
kill_prun() { # NAME DELAY ARGS...
    start "${@:3}"
    sleep "$2"
    kill -9 "$pid"
    wait "$pid" 2>/dev/null
    done_ "$1: kill -9 of prun after $2 s"
}
for delay in $delays; do
    kill_rank "one of 4" $delay
    kill_prun "deaf ranks" $delay -n 4 "$client" deaf
done
for ((round = 0; round < ${PRUN_TEST_ROUNDS:-0}; round++)); do
    delay=$(printf '0.%03d' $((RANDOM % 120)))
    kill_rank "round $round" $delay
    kill_prun "round $round" $delay -n 8 sh -c "$client deaf; true"
done
for delay in 0.01 0.03 0.3; do
    kill_prun "below sh -c" $delay -n 4 sh -c "trap '' TERM; $client deaf; true"
done
kill_prun "a session of its own" 0.3 -n 2 bash -c 'setsid sleep 300 & sleep 300'
kill_prun "prun above prun" 0.3 -n 2 "$prun" -n 2 "$client" deaf

# --- many ranks ---

is "$many ranks" 0 "" -n $many --ppn $((many / 2)) "$client" fence
is "$many ranks, one fails" 4 "" -n $many sh -c \
    '[ $PMIX_RANK = 15 ] && exit 4; sleep 300'
mark
(ulimit -Sn 64 && "$prun" -n 40 sh -c 'ulimit -n' </dev/null) | sort -u >"$out"
expect_out 64
done_ "the limit of descriptors is raised for prun and not for ranks"

# --- refused: exit code, a fact in the one line, arguments ---

refuses <<'END_OF_TABLE'
2|-n .*1|-n 0 true
2|-n .*'x'|-n x true
2|-n .*'-3'|-n -3 true
2|-n .*'1e9'|-n 1e9 true
2|''|-np
2|-n|-n
2|--ppn|--ppn 0 true
2|--ppn .*''|-n 4 --ppn 3++1 true
2|--ppn .*'0'|-n 4 --ppn 3+0+1 true
2|--ppn 3\+1\+5 .*9 ranks, got 8; say -n 9|-n 8 --ppn 3+1+5 true
2|--ppn 3\+1 .*4 ranks, got 1; say -n 4|--ppn 3+1 true
2|other|--host other true
2|other|-H other true
2|hosts|--hostfile hosts true
2|--map-by.*socket|--map-by sockets true
2|--map-by.*'x'|--map-by ppr:x:node true
2|--map-by.*socket|--map-by ppr:2:board true
2|--map-by.*3.*2|--ppn 2 --map-by ppr:3:node true
2|--bind-to.*thread|--bind-to thread true
2|--timeout.*soon|--timeout soon true
2|--timeout.*0|--timeout 0 true
2|--stdin.*1|-n 2 --stdin 4 true
2|--stdin.*x|--stdin x true
2|--output.*file|--output file true
2|/nonexistent|--wdir /nonexistent true
2|1=2|-x 1=2 true
2|frobnicate|--frobnicate true
2|-q|-q true
2||-n 2
127|/nonexistent/program|-n 4 /nonexistent/program
127|no-such-program|-n 4 no-such-program
126|/etc/passwd|-n 4 /etc/passwd
126|/tmp|-n 4 /tmp
END_OF_TABLE
TMPDIR=/nonexistent start -n 1 true
finish
expect_rc 2
expect_err TMPDIR
done_ "refuses a TMPDIR that is not there"
is "--help" 0 - --help
is "--version" 0 - --version
exit $((failed > 0))
