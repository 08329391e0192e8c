#!/usr/bin/env bash
# catena-bench split: options, results, checks.
# usage: tests/bench/run.sh PRUN BUILD_DIR
set -u
prun=$1
bench=$2/tools/catena-bench
unordered=$2/tests/bench/unordered.so
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0
failed=0
algorithms=auto,allgather,allgather-fast,gather-scatter,cheng,cheng:128,bitonic,hash,hash64

# report NAME STATUS
report() {
    if [ "$2" -eq 0 ]; then
        echo "ok - $1"
        passed=$((passed + 1))
    else
        echo "not ok - $1"
        failed=$((failed + 1))
        tail -n 5 "$work/err" "$work/out"
    fi
}

# refused PATTERN ARGUMENT...: one line that says why, and no result
refused() {
    local pattern=$1
    shift
    timeout 30 "$bench" "$@" >"$work/out" 2>"$work/err"
    [ $? -eq 2 ] && [ ! -s "$work/out" ] && [ "$(wc -l <"$work/err")" -eq 1 ] &&
        grep -q -- "$pattern" "$work/err"
    report "refused: $*" $?
}

# real RANKS PPN ARGUMENT...
real() {
    local ranks=$1 ppn=$2
    shift 2
    "$prun" --timeout 100 -n "$ranks" --ppn "$ppn" -x UCX_TLS=tcp,self \
        "$bench" split "$@" >"$work/out" 2>"$work/err"
}

# simulated NODES PPN ARGUMENT...
simulated() {
    local nodes=$1 ppn=$2
    shift 2
    timeout 100 "$bench" --sim dawn --nodes "$nodes" --ppn "$ppn" split "$@" \
        >"$work/out" 2>"$work/err"
}

# checked ROWS JOB...: so many rows of CSV without an error
checked() {
    local rows=$1 summary
    shift
    "$@" -c --csv
    summary="$? $(awk -F, '/^split,/ { n++; e += $12; s += $12 == "" }
        END { print n + 0, e + 0, s + 0 }' "$work/out")"
    [ "$summary" = "0 $rows 0 0" ]
    report "checked: $*" $?
}

refused 'expected a number' split --groups 0
refused 'expected a number' split --groups many
refused 'int, or string:LEN' split --color text
refused 'int, or string:LEN' split --color string:4
refused 'int or none' split --key string:5
refused 'no --key' split --no-reorder --key int
refused 'neither --groups nor --color' split --no-split --groups 2
refused 'neither --groups nor --color' split --no-split --color int
refused 'gather-scatter.*"magic"' split -a magic
refused 'cheng:M.*"cheng:64"' split -a cheng:64
refused 'takes strings.*"radix"' split -a hash,radix --color string:5
refused 'no message sizes' split -m 8
refused 'no buffers' split --buffers malloc
refused 'no buffers' split --in-place
refused 'blocking call only' split --nonblocking
refused 'no leaders' split --leaders 2
refused 'expected split, found "barrier"' barrier --groups 2
refused 'expected split, found "heap"' heap --key int
refused 'expected split' --tune "$work/tune.json" --no-split
refused 'nothing arrives' split --sim dawn --nodes 2 --ppn 2 -c --cost-only
refused 'at least as many ranks as groups, found 1' split --groups 2

! real 3 3 --groups 4 && [ "$(grep -c '^catena-bench:' "$work/err")" -eq 1 ]
report "more groups than ranks: one line" $?

for job in "real 6 3" "simulated 7 4"; do
    # shellcheck disable=SC2086
    {
        checked 10 $job -i 5 -a radix,$algorithms
        checked 9 $job -i 5 -a $algorithms --groups N --color string:80
        checked 9 $job -i 5 -a $algorithms --groups 3 --no-reorder
        checked 10 $job -i 5 -a radix,$algorithms --no-split
        checked 1 $job -i 5 --no-split --key none
    }
done
checked 1 real 1 1 -i 5

simulated 4 2 -i 1 --csv -a bitonic,hash --groups 4 --color string:12
grep -v '^#' "$work/out" >"$work/csv"
[ "$(head -1 "$work/csv")" = "collective,algorithm,ranks,nodes,bytes,avg_us,\
min_us,max_us,p50_us,p99_us,iterations,errors,ratio,messages,wire_bytes,\
node_messages,heap_bytes,groups,color_bytes,key_bytes,split_rounds,\
split_messages,split_bytes,split_memory,split_ns" ] &&
    [ "$(cut -d, -f1-4,18-20 "$work/csv" | tail -n +2 | tr '\n' ' ')" = \
        "split,bitonic,8,4,4,12,8 split,hash,8,4,4,12,8 " ] &&
    awk -F, 'NR > 1 && (NF != 25 || $6 <= 0 || $21 < 3 || $22 < 3 ||
        $23 < 24 || $24 !~ /^[0-9]+$/ ||
        $25 < 1 || $25 >= 1000 * $6) { exit 1 }' "$work/csv"
report "columns of the CSV" $?

simulated 4 2 -i 1 --json -a gather-scatter --no-split && python3 - "$work/out" <<'END'
import json
import sys
with open(sys.argv[1]) as file:
    document = json.load(file)
row = document["results"][0]
assert document["collective"] == "split" and row["algorithm"] == "gather-scatter"
assert (row["groups"], row["color_bytes"], row["key_bytes"]) == (1, 0, 8)
assert row["split_rounds"] > 0 and row["split_memory"] > 0
assert any("no colors" in note for note in document["notes"])
END
report "JSON" $?

real 4 2 -i 5 -f -a bitonic,gather-scatter
grep -q 'Rounds  *Sent  *Sent Bytes  *Memory' "$work/out" &&
    grep -qE 'a group takes [1-9][0-9]* B, and [1-9][0-9]* B' "$work/out" &&
    [ "$(grep -cE '^ +(bitonic|gather-scatter) +[0-9.]+ ' "$work/out")" -eq 2 ]
report "table" $?

simulated 5 4 -i 2 -a hash,bitonic --csv && mv "$work/out" "$work/first" &&
    simulated 5 4 -i 2 -a hash,bitonic --csv && cmp -s "$work/first" "$work/out"
report "the same every time" $?

# Field 17 is the most heap of a rank.
simulated 2 2 -i 2 --csv && few=$(awk -F, '/^split,/ { print $17 }' "$work/out") &&
    simulated 2 2 -i 200 --csv &&
    [ "$(awk -F, '/^split,/ { print $17 }' "$work/out")" = "$few" ]
report "groups are freed" $?

LD_PRELOAD=$unordered simulated 4 3 -i 3 -c
[ $? -eq 1 ] && grep -q 'split/default, call 1: new rank of rank' "$work/err"
report "a wrong order is found" $?

echo "# $passed passed, $failed failed"
[ "$failed" -eq 0 ]
