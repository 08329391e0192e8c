#!/usr/bin/env bash
# The launcher's options: several programs, places, output, hosts.
# usage: tests/fault/launcher_options.sh BUILD_DIR
set -u
# shellcheck source=tests/fault/job.sh
. "$(dirname "$0")/job.sh"
host=$(uname -n)

# --- several programs ---

show='echo "$0 $* $PMIX_RANK ${X-}"'
is "programs have their ranks in order" 0 "$(printf '%s\n' 'a x 0 ' 'a x 1 ' \
    'b y 2 q' 'b y 3 q' 'b y 4 q')" -n 2 sh -c "$show" a x : -n 3 -x X=q \
    sh -c "$show" b y
is "-n is 1 for each program" 0 "$(printf '%s\n' 0 1 2)" sh -c 'echo $PMIX_RANK' : \
    sh -c 'echo $PMIX_RANK' : sh -c 'echo $PMIX_RANK'
is "--wdir is a program's own" 0 "$(printf '/%s\n' etc usr)" --wdir /usr pwd : \
    --wdir /etc pwd
is "keys of programs" 0 "$(
    for key in "0 0 2 0 0 3" "0 1 2 0 0 3" "1 0 3 2 0 3" "1 1 3 2 3 2" "1 2 3 2 3 2"
    do
        set -- $key
        echo "app=$1 arank=$2 asize=$3 aldr=$4 apps=2 size=5 univ=5 lldr=$5 lsize=$6"
    done | sort)" -n 2 --ppn 3 "$client" app : -n 3 "$client" app
is "ranks of different programs are one job" 0 "" -n 2 --ppn 2 "$client" modex fence : \
    -n 3 "$client" modex fence : "$client" modex fence
run -n 2 sleep 20 : sh -c 'exit 5'
expect_rc 5
expect_err 'rank 2 .*\b5\b'
done_ "a rank of the second program fails"
run -n 1 sleep 20 : /nonexistent/second
expect_rc 127
expect_err /nonexistent/second
done_ "the second program is not there"

# --- map, rank and bind: on the synthetic machine 8 cores with 2 threads each, of
# which 2 make an L3 cache and a NUMA domain, and 4 a socket ---

# places NAME OBJECTS ARGS...: the objects of ranks 0, 1 ... as hwloc numbers them
places() {
    HWLOC_SYNTHETIC="pack:2 numa:2 l3:1 core:2 pu:2" run "${@:3}" \
        --report-bindings true
    expect_rc 0
    expect places "$(sed -E 's/.* bound to [a-zA-Z3 ]+ ([0-9]+) .*/\1/
        s/.*not bound/-/' "$err" | tr '\n' ' ')" "$2 "
    done_ "$1: ${*:3}"
}
core="--bind-to core"
places "cores" "0 1 2 3" -n 4 $core
places "cores in turn" "0 1 2 3" -n 4 --map-by core $core
places "domains in turn" "0 2 4 6 1 3 5 7" -n 8 --map-by numa $core
places "caches in turn" "0 2 4" -n 3 --map-by l3 $core
places "sockets in turn" "0 4 1 5" -n 4 --map-by socket $core
places "domains, filled" "0 1 2 4 6" -n 5 --map-by numa --rank-by fill $core
places "ppr fills" "0 1 2 3 4" -n 5 --map-by ppr:2:numa $core
places "ppr, spanned" "0 2 4 1 3" -n 5 --map-by ppr:2:numa --rank-by span $core
places "ppr gives -n" "0 4" --map-by ppr:1:socket $core
places "ppr of nodes" "0 2 1 3" -n 4 --map-by ppr:2:node --rank-by span $core
places "nodes are adjacent" "0 2 1 3" -n 4 --ppn 2 --map-by node $core
places "bound to domains" "0 0 1 1 2 2 3 3" -n 8 --bind-to numa
places "bound to caches" "0 1 2 3" -n 4 --bind-to l3cache
places "bound to sockets" "0 1 0 1" -n 4 --map-by socket --bind-to package
places "bound to threads" "0 8 1 9" -n 4 --map-by socket --bind-to hwthread
places "threads of a core" "0 0 1" -n 3 --map-by hwthread $core
places "the domain around a core" "0 0 1" -n 3 --map-by core --bind-to numa
places "cores shared as allowed" "0 1 2 3 4 5 6 7 0" -n 9 $core:overload-allowed
places "what ranks share" "0 1 0 1 0 1 0 1 0 1" -n 10 --map-by socket
places "more than cores" "- - - - - - - - -" -n 9
places "none" "- -" -n 2 --map-by core --bind-to none

cpu=$(sed -nE 's/^Cpus_allowed_list:\t([0-9]+).*/\1/p' /proc/self/status)
if [ "$(nproc)" -gt 1 ]; then
    mark
    taskset -c "$cpu" "$prun" -n 2 sh -c 'grep Cpus_allowed_list /proc/self/status
        [ "$CATENA_HOST_RANKS" -gt "$0" ] && echo shared' "$(nproc --all)" |
        sort -u >"$out"
    expect_out "Cpus_allowed_list:	$cpu
shared"
    done_ "ranks on the one core of prun are told that they share it"
fi
is "CATENA_HOST_RANKS is the number of ranks" 0 2 -n 2 sh -c \
    '[ $PMIX_RANK != 0 ] || echo $CATENA_HOST_RANKS'

run -n 3 --ppn 1+3 --bind-to none --display map true : -n 1 true
expect_rc 0
sed -i 's/on CPUs.*/.../' "$err"
expect map "$(cat "$err")" "prun: 4 ranks of 2 programs on 2 nodes, ...
prun: program 0, 3 ranks: true
prun: program 1, 1 rank: true
prun: node $host-vn0, 1 rank:
prun:   rank 0, program 0, not bound
prun: node $host-vn1, 3 ranks:
prun:   rank 1, program 0, not bound
prun:   rank 2, program 0, not bound
prun:   rank 3, program 1, not bound"
done_ "--display map"
run --display map true $'a\nb\tc'
expect newlines "$(grep -c '^prun: program 0, 1 rank: true a?b?c$' "$err")" 1
expect lines "$(grep -vc '^prun: ' "$err")" 0
done_ "--display map of an argument with a newline"
run -n 2 --display bind --bind-to none true
expect bindings "$(grep -c 'is not bound' "$err")" 2
done_ "--display bind"
for v in -v --verbose; do
    run -n 2 $v sh -c 'sleep $PMIX_RANK; exit $PMIX_RANK' # 0 ends before 1 fails
    expect_rc 1
    expect starts "$(grep -cE 'rank [01] .* started: sh' "$err")" 2
    expect ends "$(grep -cE 'rank ([01]) .* ended after .* with code \1' "$err")" 2
    done_ "$v"
done

# --- output ---

for tag in --tag-output "--output tag"; do
    is "$tag" 0 "$(printf '[%d] a b\n' 0 1)" -n 2 $tag echo a b
done
for time in "--timestamp-output --tag-output" "--output timestamp,tag"; do
    run -n 2 $time sh -c 'printf "a\nb"'
    expect lines "$(grep -cE '^20..-..-..T..:..:..\.[0-9]{6} \[[01]\] [ab]$' "$out")" 4
    done_ "$time"
done
run --timestamp-output echo a
expect lines "$(grep -cE '^20..-..-..T..:..:..\.[0-9]{6} a$' "$out")" 1
done_ "--timestamp-output"
for given in "--output $work/new/deep" "--output dir=$work/listed,tag"; do
    prefix=
    [ "$given" = "${given%,tag}" ] || prefix='[1] '
    folder=${given##*[ =]}
    folder=${folder%,tag}
    run -n 2 $given sh -c 'echo "out $PMIX_RANK"; echo err >&2'
    expect_rc 0
    expect_out ""
    expect stderr "$(cat "$err")" ""
    expect files "$(ls "$folder" | tr '\n' ' ')" \
        "rank.0.stderr rank.0.stdout rank.1.stderr rank.1.stdout "
    expect stdout "$(cat "$folder/rank.1.stdout")" "${prefix}out 1"
    expect stderr "$(cat "$folder/rank.1.stderr")" "${prefix}err"
    done_ "$given"
done
run --output "$work/new/deep" sh -c 'head -c 3000000 /dev/zero'
expect bytes "$(wc -c <"$work/new/deep/rank.0.stdout")" 3000000
done_ "--output DIR with long output, into old files"
run -n 2 --output "$work/new/deep" "$work/missing"
expect_rc 127
expect bytes "$(wc -c <"$work/new/deep/rank.0.stdout")" 3000000
expect stdout "$(cat "$work/new/deep/rank.1.stdout")" "out 1"
done_ "--output DIR keeps old files if the program cannot be started"
run -n 2 --output "$work/new/deep" sh -c '[ $PMIX_RANK = 1 ] || echo short'
expect stdout "$(cat "$work/new/deep/rank.0.stdout")" short
expect stdout "$(cat "$work/new/deep/rank.1.stdout")" ""
expect stderr "$(cat "$work/new/deep/rank.1.stderr")" ""
done_ "--output DIR overwrites old files, also without output"
if [ -w /dev/full ]; then
    ln -sf /dev/full "$work/new/deep/rank.0.stdout"
    run --output "$work/new/deep" yes
    expect_rc 141
    expect reports "$(grep -c 'cannot write .*rank.0.stdout' "$err")" 1
    done_ "--output DIR on a full disk"
    run --output "$work/new/deep" echo short
    expect_rc 1
    expect_err "output is lost"
    done_ "--output DIR on a full disk, and little output"
fi
rm -f "$work/new/deep/rank.0.stdout"
mkfifo "$work/new/deep/rank.0.stdout"
run --output "$work/new/deep" true
expect_rc 2
done_ "--output DIR with a FIFO in it"

# Where ranks really are bound.
unset HWLOC_SYNTHETIC
if [ "$(nproc)" -gt 1 ]; then
    # shellcheck disable=SC2016
    run -n 2 --bind-to core --tag-output sh -c \
        'sed -n "s/^Cpus_allowed_list:[[:space:]]*//p" /proc/self/status'
    expect_rc 0
    expect "one list each" "$(sort -u "$out" | grep -vc '[0] .*[1] ')" 2
    expect "different cores" "$(sed 's/^[^ ]* //' "$out" | sort -u | wc -l)" 2
    done_ "ranks are bound to cores"
fi

# --- refused: exit code, a fact in the one line, arguments ---

export HWLOC_SYNTHETIC="pack:2 core:2 pu:1" # one NUMA domain, no L3 cache
: >"$work/file"
refuses <<'END_OF_TABLE'
2|after ':'|true :
2|no program|: true
2|-n .*'x'|true : -n x true
2|at most 32768|-n 32768 true : true
2|--bind-to|true : --bind-to core true
2|--verbose|true : -v true
2|last is 2|--stdin 3 -n 2 true : true
2|--map-by l3 .*none|--map-by l3 true
2|--bind-to l3 .*none|--bind-to l3 true
2|8 ranks on 4 cores, got 9|-n 9 --map-by ppr:2:core true
2|--map-by ppr.*'0'|--map-by ppr:0:core true
2|--map-by .*ppr:2|--map-by ppr:2 true
2|--bind-to core .*5 ranks.*4 cores|-n 5 --bind-to core true
2|--bind-to hwthread .*5 ranks.*4|-n 5 --bind-to hwthread true
2|--bind-to .*core:often|--bind-to core:often true
2|--rank-by .*x|--rank-by x true
2|--display .*x|--display x true
2|--output .*nowhere|--output nowhere true
2|one directory|--output WORK/a,WORK/b true
2|prog \.\.\.|-H a prog x
2|--output .*x|--output tag,x true
2|--output .*file|--output WORK/file true
2|--output .*file|--output WORK/file/deep true
2|needs a value|--output
2|mpirun -n 2 --host a,b prog, or srun --mpi=pmix -n 2 -w a,b prog|--host a,b -n 2 prog
2|mpirun -n N --host a,b prog|-H a,b prog
2|mpirun -n N --host a:2 prog$|--hosts a:2 prog
2|mpirun -n 2 --hostfile list prog|-n 2 --hostfile list prog
2|mpirun -n 2 --hostfile list prog|-n 2 --machinefile list prog
2|srun --mpi=pmix -n 2 -w a,b prog|-n 2 -w a,b prog
2|srun --mpi=pmix -n 2 -w a,b prog|-n 2 --nodelist a,b prog
2|srun --mpi=pmix -n 8 -N 2 prog|-N 2 -n 8 prog
2|srun --mpi=pmix -n 8 -N 2 prog|--nodes=2 -n 8 prog
2|this host only|-N 2
END_OF_TABLE
exit $((failed > 0))
