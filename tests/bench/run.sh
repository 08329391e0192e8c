#!/usr/bin/env bash
# catena-bench: options, results and checks of split, of the collectives of
# levels, and of those among neighbors.
# usage: tests/bench/run.sh BUILD_DIR
set -u
prun=$1/tools/prun
bench=$1/tools/catena-bench
unordered=$1/tests/bench/unordered.so
wrong=$1/tests/bench/wrong.so
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

# real_one RANKS PPN ARGUMENT...: any collective
real_one() {
    local ranks=$1 ppn=$2
    shift 2
    "$prun" --timeout 100 -n "$ranks" --ppn "$ppn" -x UCX_TLS=tcp,self \
        "$bench" "$@" >"$work/out" 2>"$work/err"
}

# simulated_one NODES PPN ARGUMENT...
simulated_one() {
    local nodes=$1 ppn=$2
    shift 2
    timeout 100 "$bench" --sim dawn --nodes "$nodes" --ppn "$ppn" "$@" \
        >"$work/out" 2>"$work/err"
}

# real RANKS PPN ARGUMENT...: split
real() {
    real_one "$1" "$2" split "${@:3}"
}

simulated() {
    simulated_one "$1" "$2" split "${@:3}"
}

# checked ROWS JOB...: so many rows of CSV without an error
checked() {
    local rows=$1 summary
    shift
    "$@" -c --csv
    summary="$? $(grep -v '^#' "$work/out" | sed 's/"[^"]*"/quoted/' |
        awk -F, 'NR > 1 { n++; e += $12; s += $12 == "" }
        END { print n + 0, e + 0, s + 0 }')"
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

# ---- collectives of levels ----

refused 'takes (int8, .*), found "byte"' reduce --type byte
refused 'one of max, min, .*"mean"' scan --op mean
refused 'whole elements of 16 bytes' allreduce --type complex_double -m 24:64
refused 'whole elements of 4 bytes' allreduce -m 2
refused 'expected a reduction' allgather --op max
refused 'expected bcast, reduce, gather or scatter' allreduce --root 1
refused 'expected a lower rank' gather --root 1
refused 'that goes by levels' alltoall --hierarchy node:shm
refused 'second buffer' bcast --in-place
refused 'nonblocking call' split --overlap
refused 'found --blocking' bcast --overlap --blocking
refused 'expected --overlap' bcast --test 3
refused 'neither --flag nor -f' barrier --overlap -f

moves="bcast gather gatherv scatter scatterv allgather allgatherv"
reductions="reduce allreduce reduce_scatter reduce_scatter_block scan exscan"

# Sizes that are no multiple of the ranks, so that parts are not alike.
for name in $moves $reductions; do
    checked 12 real_one 6 3 "$name" -m 4:8192 -i 2
    checked 12 simulated_one 3 3 "$name" -m 4:8192 -i 2 --nonblocking \
        --buffers mixed
    [ "$name" = bcast ] ||
        checked 12 simulated_one 3 3 "$name" -m 4:8192 -i 2 --persistent \
            --in-place
done
for name in bcast gatherv scatterv; do
    checked 5 simulated_one 3 2 "$name" -m 0:8 -i 2 --root 5
done
checked 3 simulated_one 3 2 reduce -m 0:8 -i 2 --root 5
for kind in "prod complex_float" "min int8" "land uint32" "bxor byte" \
    "maxloc double_int32" "max double"; do
    # shellcheck disable=SC2086
    set -- $kind
    checked 3 simulated_one 2 3 allreduce --op "$1" --type "$2" -i 2 -m 16:64
    checked 3 real_one 4 2 scan --op "$1" --type "$2" -i 2 -m 16:64
done

two="--hierarchy node:shm,network:ucx --hierarchy network:p2p"
# shellcheck disable=SC2086
{
    checked 4 real_one 6 3 allgather $two -a bruck,ring -m 64:64 -i 3
    checked 2 real_one 6 3 barrier $two -i 20
    checked 2 simulated_one 3 3 barrier $two
    real_one 4 2 bcast $two -m 8:8 -i 20 &&
        [ "$(grep -cE '^8 +(node:shm,network:ucx|network:p2p) +[0-9.]+ +[0-9.]+$' \
            "$work/out")" -eq 2 ] &&
        grep -q '^# network:p2p, from 8 B: .*levels="network:p2p(4)"' "$work/out"
    report "hierarchies side by side" $?
    simulated_one 4 2 bcast $two -m 8:8 --csv &&
        [ "$(grep -c '^bcast,\("node:shm,network:ucx"\|network:p2p\),8,4,8,' \
            "$work/out")" -eq 2 ]
    report "hierarchies in CSV" $?
}

# Blocks that come in one part, in two and in more, none of them straight to
# where it belongs.
checked 5 real_one 6 2 alltoallw -m 32k:512k -i 3 -a direct
checked 5 real_one 6 2 alltoall -m 32k:512k -i 3 -a direct --buffers malloc

# On the simulator's clock computing takes no core from anybody: what is sent
# before the call returns is hidden, all else waits for the next call.
checked 2 simulated_one 4 2 allreduce --overlap -m 8k:16k
checked 1 real_one 2 2 barrier --overlap -i 20
checked 1 real_one 4 2 alltoall --overlap --test 3 -m 64:64 -i 20
overlap() {
    simulated_one 4 2 allreduce --overlap --csv -m 64k:64k "$@" &&
        awk -F, '/^allreduce,/ { print $9 }' "$work/out"
}
none=$(overlap) && much=$(overlap --test 100) &&
    awk "BEGIN { exit !($none >= 0 && $none + 20 < $much && $much <= 100) }"
report "tests make calls overlap: $none% to $much%" $?
awk -F, '/^allreduce,/ { percent = 100 * (1 - ($6 - $7) / $8)
    exit !(percent - $9 < 0.1 && $9 - percent < 0.1) }' "$work/out"
report "overlap is what the times say" $?

# ---- collectives among neighbors ----

graph=$work/graph
cat >"$graph" <<'END'
# source, target: a self edge, two edges between two ranks, and ranks 3 and
# above without targets
0, 1
0,1
 1 , 0
2,2  # to itself
0, 3

END

refused 'cart:DIMS.*found "ring:4"' neighbor_gather --neighborhood ring:4
refused 'with DIMS as 4x4 or auto' neighbor_gather --neighborhood cart:4x
refused '5 or 9 points' neighbor_reduce --neighborhood stencil:6:3x3
refused 'random:DEGREE, .*"random:0"' neighbor_gather --neighborhood random:0
refused 'as many points as there are ranks, found 1' neighbor_alltoall \
    --neighborhood cart:2x2
refused 'all ranks that the file names, found 1' neighbor_alltoall \
    --neighborhood "graph:$graph"
refused 'uniform, random:MAX or heavy:WEIGHT.*"heavy"' neighbor_gather \
    --weights heavy
refused 'direct, colored, .*"bruck"' neighbor_gather -a bruck
refused 'expected a neighbor_' alltoall --shuffle 1
refused 'expected a number, found "-1"' neighbor_gather --shuffle -1
refused 'expected two buffers' neighbor_alltoallv --in-place
refused 'up to 1g' neighbor_alltoall -m 2g
refused 'No such file' neighbor_alltoall --neighborhood "graph:$work/none"
for line in "0 1" "0" "a, b" "0, 5000000" "-1, 0" "0, 1, x" "0, 1, 2, 3" ""; do
    printf '0, 1\n%s\n' "$line" >"$work/wrong"
    [ -n "$line" ] || printf '# none\n\n' >"$work/wrong"
    refused "wrong:2: expected .*\"$line\"" neighbor_alltoall \
        --neighborhood "graph:$work/wrong"
done
! simulated_one 3 2 neighbor_alltoall --in-place --neighborhood "graph:$graph" &&
    grep -q 'as many sources as targets' "$work/err"
report "in place not where sources are more than targets" $?

neighbors="gather gatherv alltoall alltoallv alltoallw reduce reducev"
for name in $neighbors; do
    checked 12 real_one 6 3 "neighbor_$name" -m 4:8192 -i 2
    checked 12 simulated_one 3 3 "neighbor_$name" -m 4:8192 -i 2 \
        --neighborhood stencil:9:auto:periodic --nonblocking --buffers mixed
    checked 12 simulated_one 2 3 "neighbor_$name" -m 4:8192 -i 2 \
        --neighborhood "graph:$graph" --persistent
    checked 36 real_one 4 2 "neighbor_$name" -m 4:8192 -i 2 --persistent \
        --blocking --nonblocking
    checked 4 simulated_one 3 3 "neighbor_$name" -m 4:32 -i 2 \
        --neighborhood random:4 --shuffle 3
    checked 8 simulated_one 4 3 "neighbor_$name" -m 8:16 -i 2 \
        --neighborhood stencil:27:3x2x2 -a direct,colored,combining,aggregated
    checked 1 simulated_one 3 2 "neighbor_$name" -m 0:0 -i 2
    checked 2 simulated_one 2 3 "neighbor_$name" -m 512:1k -i 2 \
        --weights random:9 --reorder
done
checked 4 simulated_one 2 3 neighbor_alltoall -m 8:64 -i 2 --in-place
checked 4 simulated_one 2 3 neighbor_reduce -m 8:64 -i 2 --in-place \
    --op maxloc --type int32_int32 --neighborhood random:3
checked 1 real_one 5 2 neighbor_alltoall -m 64:64 -i 5 --overlap

# fields NAMES: of the rows of CSV
fields() {
    awk -F, -v names="$1" '/^collective,/ { for (i = 1; i <= NF; i++) at[$i] = i }
        /^neighbor_/ { n = split(names, name, " ")
            for (i = 1; i <= n; i++) printf "%s ", $at[name[i]] }' "$work/out"
}

# An open mesh of 4 by 4, a row on each node: 24 of its 48 edges lie between
# rows, and an inner rank has four.
simulated_one 4 4 neighbor_alltoall -a direct -m 64k:64k --csv &&
    [ "$(fields "rank_messages rounds between_bytes before_bytes edge_bytes")" = \
        "4 1 1572864 1572864 3145728 " ] &&
    [ "$(fields wire_bytes | awk '{ print ($1 >= 1572864 && $1 < 1600000) }')" = 1 ]
report "numbers of an open mesh" $?

# With diagonals an inner rank has eight neighbors; combining speaks to four.
simulated_one 4 4 neighbor_alltoall --neighborhood stencil:9:4x4 -m 8:8 --csv \
    -a direct,combining,colored &&
    [ "$(fields "algorithm rank_messages")" = \
        "direct 8 combining 4 colored 8 " ] &&
    [ "$(fields rounds | awk '{ print $1, $2, ($3 >= 8) }')" = "1 2 1" ]
report "messages and rounds of algorithms" $?

# Heavy edges are between pairs, so one round is enough for them.
simulated_one 4 4 neighbor_alltoall --weights heavy:9 -m 8:8 --csv \
    -a colored,combining && [ "$(fields heavy_rounds | cut -d' ' -f1)" = 1 ] &&
    grep -q '^# combining, from 8 B: .*combining is not possible' "$work/out"
report "heavy edges share a round, and lists are no grid" $?

# Blocks that differ go by the usual length, alike ones by their own.
estimated() {
    simulated_one 2 3 "$1" -m "$2:$2" &&
        grep -oE 'least estimate for [0-9]+ bytes' "$work/out" | sort -u
}
[ "$(estimated neighbor_alltoallv 16)" = "$(estimated neighbor_alltoallv 64k)" ] &&
    [ "$(estimated neighbor_reducev 16)" = "$(estimated neighbor_gatherv 32k)" ] &&
    [ "$(estimated neighbor_alltoall 16)" = "least estimate for 16 bytes" ]
report "lengths that algorithms are chosen for" $?

simulated_one 4 16 neighbor_alltoall --neighborhood cart:8x8 --shuffle 1 \
    --reorder -m 64:64 --csv &&
    fields "between_bytes before_bytes" |
    awk '{ exit !($1 > 0 && 2 * $1 <= $2) }'
report "numbered anew, not half as much goes between nodes" $?

simulated_one 2 3 neighbor_alltoallv --neighborhood "graph:$graph" -m 8:8 --json &&
    python3 - "$work/out" <<'END'
import json
import sys
with open(sys.argv[1]) as file:
    document = json.load(file)
row = document["results"][0]
assert row["edge_bytes"] == 5 * 8 and row["rank_messages"] == 3
assert row["rounds"] >= 1
assert any("5 edges of a file" in note for note in document["notes"])
END
report "JSON of neighbors" $?

for job in "bcast block from rank 0, offset 7" \
    "neighbor_alltoall block of nobody, number 3, offset 7" \
    "neighbor_reduce result of sources, the last is rank 0, offset 7" \
    "allreduce result of ranks 0 to 5, offset 7" "scatter guard" \
    "exscan receive buffer (must not change) of rank 0" \
    "exscan result of ranks 0 to 3"; do
    LD_PRELOAD=$wrong simulated_one 3 2 "${job%% *}" -m 8:8 -i 2 -c
    [ $? -eq 1 ] && grep -q -- "${job#* }" "$work/err"
    report "found: $job" $?
done

echo "# $passed passed, $failed failed"
[ "$failed" -eq 0 ]
