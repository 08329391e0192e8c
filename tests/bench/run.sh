#!/usr/bin/env bash
# catena-bench: options, results and checks of split, of hierarchical collectives,
# and of neighborhood collectives.
# usage: tests/bench/run.sh BUILD_DIR [split|levels|neighbors|all [long]]
# Real ranks make only some of the calls, except with "long".
set -u
# shellcheck source=tests/script.sh
. "$(dirname "$0")/../script.sh"
wanted=${2:-all}
long=${3:-}
csv=$work/csv

# wants PART: whether the part is selected
wants() { [ "$wanted" = all ] || [ "$wanted" = "$1" ]; }

# real RANKS PPN ARGUMENT..., simulated NODES PPN ARGUMENT...
real() {
    "$prun" --timeout 300 -n "$1" --ppn "$2" -x UCX_TLS=tcp,self -x CATENA_WAIT=sleep \
        "$bench" "${@:3}"
}
simulated() {
    timeout 300 "$bench" --sim dawn --nodes "$1" --ppn "$2" "${@:3}"
}
# on_real NAME...: with "long", or if the collective is one of these
on_real() { [ -n "$long" ] || [[ " $* " = *" $name "* ]]; }

# refused: for each line "FACT|ARGUMENTS" of stdin expect exit code 2, no result,
# and one line that contains the fact
refused() {
    local fact arguments lines
    while IFS='|' read -r fact arguments; do
        # shellcheck disable=SC2086
        timeout 60 "$bench" $arguments >"$out" 2>"$err" </dev/null
        [ $? -eq 2 ] && [ ! -s "$out" ] && mapfile -t lines <"$err" &&
            [ ${#lines[@]} -eq 1 ] && [[ ${lines[0]} =~ $fact ]]
        verdict "refused: ${arguments//$work\//}" $?
    done
}

# checked: for each line "ROWS JOB ARGUMENTS" of stdin expect this number of rows
# without an error
checked() {
    local rows job summary
    while read -r rows job; do
        # shellcheck disable=SC2086
        $job -c --csv >"$out" 2>"$err" </dev/null
        summary="$? $(awk -F, '{ gsub(/"([^"]|"")*"/, "quoted") }
            /^collective,/ { for (at = NF; at && $at != "errors"; at--); next }
            !/^#/ { n++; e += at ? $at : 0; s += !at || $at == "" }
            END { print n + 0, e + 0, s + 0 }' "$out")"
        [ "$summary" = "0 $rows 0 0" ]
        verdict "checked: ${job//$work\//}" $? \
            "status, rows, errors, unchecked: $summary"
    done
}

# rows JOB...: write rows to $csv. fields NAMES: columns of these rows
rows() { "$@" --csv >"$csv"; }
fields() {
    awk -F, -v names="$1" '{ gsub(/"([^"]|"")*"/, "quoted") }
        /^collective,/ { for (i = 1; i <= NF; i++) at[$i] = i; next }
        !/^#/ { n = split(names, name, " ")
            for (i = 1; i <= n; i++) printf "%s ", $at[name[i]] }' "$csv"
}

# has CODE JOB...: a Python expression on the JSON document d and its first row r
has() {
    "${@:2}" --json >"$work/json" && python3 -c "
import json, sys
d = json.load(open('$work/json'))
r = d['results'][0]
sys.exit(not ($1))"
}

# found FACT JOB...: with wrong.so preloaded -c finds an error
found() {
    LD_PRELOAD=$build/tests/bench/wrong.so "${@:2}" -c
    [ $? -eq 1 ] && grep -qE -- "$1" "$err"
}

# ---- split ----

more_groups_than_ranks() {
    ! real 3 3 split --groups 4 && [ "$(grep -c '^catena-bench:' "$err")" -eq 1 ]
}
columns_of_split() {
    rows simulated 4 2 split -i 1 -a bitonic,hash --groups 4 --color string:12 &&
        [ "$(fields 'collective algorithm ranks nodes groups color_bytes key_bytes')" = \
            "split bitonic 8 4 4 12 8 split hash 8 4 4 12 8 " ] &&
        fields 'avg_us split_rounds split_messages split_bytes split_memory split_ns' |
        awk '{ exit !(NF == 12 && $1 > 0 && $2 >= 3 && $3 >= 3 && $4 >= 24 &&
            $5 ~ /^[0-9]+$/ && $6 >= 1 && $6 < 1000 * $1) }'
}
table_of_split() {
    real 4 2 split -i 5 -f -a bitonic,gather-scatter &&
        [ "$(grep -cE '^ +(bitonic|gather-scatter) +[0-9.]+ ' "$out")" -eq 2 ]
}
same_every_time() {
    rows simulated 5 4 split -i 2 -a hash,bitonic && mv "$csv" "$csv.first" &&
        rows simulated 5 4 split -i 2 -a hash,bitonic && cmp "$csv" "$csv.first"
}
groups_are_freed() {
    local few
    rows simulated 2 2 split -i 2 && few=$(fields heap_bytes) &&
        rows simulated 2 2 split -i 200 && [ "$(fields heap_bytes)" = "$few" ]
}

if wants split; then
    algorithms=auto,allgather,allgather-fast,gather-scatter,cheng,cheng:128
    algorithms+=,bitonic,hash,hash64
    refused <<END
0|split --groups 0
many|split --groups many
text|split --color text
string:4|split --color string:4
string:5|split --key string:5
--key|split --no-reorder --key int
--groups|split --no-split --groups 2
--color|split --no-split --color int
magic|split -a magic
cheng:64|split -a cheng:64
radix|split -a hash,radix --color string:5
split|split -m 8
split|split --buffers malloc
split|split --in-place
split|split --nonblocking
split|split --leaders 2
barrier|barrier --groups 2
heap|heap --key int
split|--tune $work/tune.json --no-split
-c|split --sim dawn --nodes 2 --ppn 2 -c --cost-only
\b1\b|split --groups 2
END
    try "more groups than ranks: one line" more_groups_than_ranks
    for job in "real 4 2" "simulated 7 4"; do
        checked <<END
10 $job split -i 5 -a radix,$algorithms
9 $job split -i 5 -a $algorithms --groups N --color string:80
9 $job split -i 5 -a $algorithms --groups 3 --no-reorder
10 $job split -i 5 -a radix,$algorithms --no-split
1 $job split -i 5 --no-split --key none
END
    done
    checked <<<"1 real 1 1 split -i 5"
    try "columns of the CSV" columns_of_split
    try "JSON" has 'd["collective"] == "split" and
        r["algorithm"] == "gather-scatter" and
        (r["groups"], r["color_bytes"], r["key_bytes"]) == (1, 0, 8) and
        r["split_rounds"] > 0 and r["split_memory"] > 0' \
        simulated 4 2 split -i 1 -a gather-scatter --no-split
    try "table" table_of_split
    try "the same every time" same_every_time
    try "groups are freed" groups_are_freed
    try "a wrong order is found" found 'call 1: .*rank' \
        simulated 4 3 split -i 3
fi

# ---- hierarchical collectives ----

two="--hierarchy node:shm,network:ucx --hierarchy network:p2p"
# shellcheck disable=SC2086
table_side_by_side() {
    real 4 2 bcast $two -m 8:8 -i 20 &&
        [ "$(grep -cE '^8 +(node:shm,network:ucx|network:p2p) +[0-9.]+ +[0-9.]+ +[0-9.]+ +[0-9.]+-[0-9.]+$' \
            "$out")" -eq 2 ] &&
        grep -q '^# network:p2p, .*levels="network:p2p(4)"' "$out"
}
# shellcheck disable=SC2086
side_by_side() {
    rows simulated 4 2 bcast $two -m 8:8 &&
        [ "$(fields 'collective ranks nodes bytes')" = \
            "bcast 8 4 8 bcast 8 4 8 " ] &&
        [ "$(grep -cE '^bcast,("node:shm,network:ucx"|network:p2p),' "$csv")" = 2 ]
}
overlap() {
    rows simulated 4 2 allreduce --overlap -m 64k:64k "$@" &&
        awk -F, '/^allreduce,/ { print $9 }' "$csv"
}
# On the simulator's clock computing takes no core from other ranks: messages sent
# before the call returns overlap, all others wait for the next call.
tests_overlap() {
    local none much
    none=$(overlap) && much=$(overlap --test 100) &&
        awk "BEGIN { exit !($none >= 0 && $none + 20 < $much && $much <= 100) }"
}
overlap_is_what_times_say() {
    overlap --test 100 && awk -F, '/^allreduce,/ {
        percent = 100 * (1 - ($6 - $7) / $8)
        exit !(percent - $9 < 0.1 && $9 - percent < 0.1) }' "$csv"
}

# A barrier of two ranks contains the machine file's overhead twice.
named_overhead() {
    local name ns none=''
    for name in 0 flag message; do
        rows timeout 60 "$bench" --sim jaguar --nodes 1 --ppn 2 --cores 0,1 --hierarchy node:p2p \
            --node-overhead "$name" barrier && ns=$(fields avg_us) || return 1
        none=${none:-$ns}
        awk "BEGIN { d = $ns - $none - 2 * ($1); exit !(d < 0.003 && d > -0.003) }" || return 1
        shift
    done
}
modelled() {
    "$bench" --model hpc-b --nodes 1 --ppn 2 -m 256k:256k --csv scatter | awk -F, '
        $2 == "zero-copy" { n += $7 == 1 && $8 == 1; once = $9 }
        $2 == "staged" { n += $7 == 2 && $8 == 4; twice = $9 }
        END { exit !(n == 2 && once < twice && twice < 2 * once) }'
}

if wants levels; then
    refused <<'END'
byte|reduce --type byte
mean|scan --op mean
\b16\b|allreduce --type complex_double -m 24:64
\b4\b|allreduce -m 2
--op|allgather --op max
--root|allreduce --root 1
\b1\b|gather --root 1
--hierarchy|alltoallv --hierarchy node:shm
bcast|bcast --in-place
--overlap|split --overlap
--blocking|bcast --overlap --blocking
--overlap|bcast --test 3
-f|barrier --overlap -f
bcast|--model hpc-b --nodes 2 --ppn 2 bcast
staged|--model hpc-b --nodes 2 --ppn 2 -a staged
direct|--model hpc-b --nodes 2 --ppn 2 -a direct scatter
--ppn|--model hpc-b --nodes 1 --ppn 1 scatter
flag|--sim hpc-b --nodes 1 --ppn 2 --node-overhead flagg barrier
flag_overhead_ns|--sim hpc-b --nodes 1 --ppn 2 --node-overhead flag barrier
END
    # Sizes that are not multiples of the ranks, so that blocks differ.
    for name in bcast gather gatherv scatter scatterv allgather allgatherv \
        reduce allreduce reduce_scatter reduce_scatter_block scan exscan; do
        checked <<END
12 simulated 3 3 $name -m 4:8192 -i 2 --nonblocking --buffers mixed
END
        ! on_real scatterv allreduce scan || checked <<END
12 real 4 2 $name -m 4:8192 -i 2
END
        [ "$name" = bcast ] || checked <<END
12 simulated 3 3 $name -m 4:8192 -i 2 --persistent --in-place
END
    done
    scans="simulated 2 2"
    [ -z "$long" ] || scans="real 4 2"
    for kind in "prod --type complex_float" "min --type int8" \
        "land --type uint32" "bxor --type byte" "maxloc --type double_int32" \
        "max --type double"; do
        checked <<END
3 simulated 2 3 allreduce --op $kind -i 2 -m 16:64
3 $scans scan --op $kind -i 2 -m 16:64
END
    done
    # These include blocks of one chunk, of two and of more, none of which is
    # received in place.
    checked <<END
5 simulated 3 2 bcast -m 0:8 -i 2 --root 5
5 simulated 3 2 gatherv -m 0:8 -i 2 --root 5
5 simulated 3 2 scatterv -m 0:8 -i 2 --root 5
3 simulated 3 2 reduce -m 0:8 -i 2 --root 5
4 real 4 2 allgather $two -a bruck,ring -m 64:64 -i 3
2 real 4 2 barrier $two -i 20
2 simulated 3 3 barrier $two
2 real 4 2 alltoallw -m 32k:512k --step 16 -i 2 -a direct
2 real 6 2 alltoall -m 32k:512k --step 16 -i 2 -a direct --buffers malloc
2 simulated 4 2 allreduce --overlap -m 8k:16k
1 real 2 2 barrier --overlap -i 20
1 real 4 2 alltoall --overlap --test 3 -m 64:64 -i 20
END
    try "overhead by name" named_overhead 0 0.1 0.68
    try "formulas of a scatter" modelled
    try "hierarchies side by side" table_side_by_side
    try "hierarchies in CSV" side_by_side
    try "tests make calls overlap" tests_overlap
    try "overlap is what the times say" overlap_is_what_times_say
    while IFS='|' read -r name fact; do
        try "found: $name, $fact" found "$fact" \
            simulated 3 2 "$name" -m 8:8 -i 2
    done <<'END'
bcast|block from rank 0, offset 7
neighbor_alltoall|number 3, offset 7
neighbor_reduce|result .*rank 0, offset 7
allreduce|result of ranks 0 to 5, offset 7
scatter|guard
exscan|of rank 0
exscan|ranks 0 to 3
END
fi

# ---- neighborhood collectives ----

sources_and_targets() {
    ! simulated 3 2 neighbor_alltoall --in-place --neighborhood "graph:$graph" &&
        grep -q '^catena-bench' "$err"
}
# An open mesh of 4 by 4, a row on each node: 24 of its 48 edges connect rows, and
# an inner rank has four.
open_mesh() {
    rows simulated 4 4 neighbor_alltoall -a direct -m 64k:64k &&
        [ "$(fields "rank_messages rounds between_bytes before_bytes edge_bytes")" = \
            "4 1 1572864 1572864 3145728 " ] &&
        fields wire_bytes | awk '{ exit !($1 >= 1572864 && $1 < 1600000) }'
}
# With diagonals an inner rank has eight neighbors; combining sends to four.
messages_and_rounds() {
    rows simulated 4 4 neighbor_alltoall --neighborhood stencil:9:4x4 -m 8:8 \
        -a direct,combining,colored &&
        [ "$(fields "algorithm rank_messages")" = \
            "direct 8 combining 4 colored 8 " ] &&
        [ "$(fields rounds | awk '{ print $1, $2, ($3 >= 8) }')" = "1 2 1" ]
}
# Heavy edges connect pairs, so one round suffices for them. Lists are no grid, so
# another algorithm replaces combining.
heavy_edges() {
    rows simulated 4 4 neighbor_alltoall --weights heavy:9 -m 8:8 -a colored &&
        [ "$(fields heavy_rounds)" = "1 " ] &&
        rows simulated 4 4 neighbor_alltoall --neighborhood stencil:9:4x4 --weights heavy:9 \
            -m 8:8 -a combining &&
        grep '^# combining, from 8 B: ' "$csv" |
        grep -qE 'algorithm=(direct|colored|aggregated)'
}
# The selection for unequal blocks uses the usual length, for equal ones their own.
estimated() {
    simulated 2 3 "$1" -m "$2:$2" | sed -nE 's/.* ([0-9]+) bytes.*/\1/p' | sort -u
}
chosen_lengths() {
    [ "$(estimated neighbor_alltoallv 16)" = "$(estimated neighbor_alltoallv 64k)" ] &&
        [ "$(estimated neighbor_reducev 16)" = "$(estimated neighbor_allgatherv 32k)" ] &&
        [ "$(estimated neighbor_alltoall 16)" = 16 ]
}
reordered() {
    rows simulated 4 16 neighbor_alltoall --neighborhood cart:8x8 --shuffle 1 \
        --reorder -m 64:64 && fields "between_bytes before_bytes" |
        awk '{ exit !($1 > 0 && 2 * $1 <= $2) }'
}

if wants neighbors; then
    # A self edge, two edges between two ranks, and ranks 3 and above without
    # targets.
    graph=$work/graph
    printf '%s\n' '# source, target' '0, 1' '0,1' ' 1 , 0' '2,2  # to itself' \
        '0, 3' '' >"$graph"
    refused <<END
ring:4|neighbor_allgather --neighborhood ring:4
4x|neighbor_allgather --neighborhood cart:4x
\b9\b|neighbor_reduce --neighborhood stencil:6:3x3
random:0|neighbor_allgather --neighborhood random:0
\b1\b|neighbor_alltoall --neighborhood cart:2x2
\b1\b|neighbor_alltoall --neighborhood graph:$graph
heavy|neighbor_allgather --weights heavy
bruck|neighbor_allgather -a bruck
neighbor_|alltoall --shuffle 1
-1|neighbor_allgather --shuffle -1
neighbor_alltoallv|neighbor_alltoallv --in-place
1g|neighbor_alltoall -m 2g
$work/none|neighbor_alltoall --neighborhood graph:$work/none
END
    for line in "0 1" 0 "a, b" "0, 5000000" "-1, 0" "0, 1, x" "0, 1, 2, 3" ""; do
        printf '0, 1\n%s\n' "$line" >"$work/wrong"
        [ -n "$line" ] || printf '# none\n\n' >"$work/wrong"
        timeout 60 "$bench" neighbor_alltoall --neighborhood \
            "graph:$work/wrong" >"$out" 2>"$err"
        [ $? -eq 2 ] && grep -qF "wrong:2:" "$err" && grep -qF "\"$line\"" "$err"
        verdict "refused: a line '$line' of a graph" $?
    done
    try "in place not where sources are more than targets" sources_and_targets
    for name in allgather allgatherv alltoall alltoallv alltoallw reduce reducev; do
        checked < <(sed "s/NAME/neighbor_$name/" <<END
12 simulated 3 3 NAME -m 4:8192 -i 2 --neighborhood stencil:9:auto:periodic --nonblocking --buffers mixed
12 simulated 2 3 NAME -m 4:8192 -i 2 --neighborhood graph:$graph --persistent
4 simulated 3 3 NAME -m 4:32 -i 2 --neighborhood random:4 --shuffle 3
8 simulated 4 3 NAME -m 8:16 -i 2 --neighborhood stencil:27:3x2x2 -a direct,colored,combining,aggregated
1 simulated 3 2 NAME -m 0:0 -i 2
2 simulated 2 3 NAME -m 512:1k -i 2 --weights random:9 --reorder
END
        )
        ! on_real alltoall reducev || checked <<END
12 real 4 2 neighbor_$name -m 4:8192 -i 2
36 real 4 2 neighbor_$name -m 4:8192 -i 2 --persistent --blocking --nonblocking
END
    done
    checked <<END
4 simulated 2 3 neighbor_alltoall -m 8:64 -i 2 --in-place
4 simulated 2 3 neighbor_reduce -m 8:64 -i 2 --in-place --op maxloc --type int32_int32 --neighborhood random:3
1 real 5 2 neighbor_alltoall -m 64:64 -i 5 --overlap
END
    try "numbers of an open mesh" open_mesh
    try "messages and rounds of algorithms" messages_and_rounds
    try "heavy edges share a round, and lists are no grid" heavy_edges
    try "lengths that algorithms are chosen for" chosen_lengths
    try "reordered, not half as much goes between nodes" reordered
    try "JSON of neighbors" has 'r["edge_bytes"] == 5 * 8 and
        r["rank_messages"] == 3 and r["rounds"] >= 1' simulated 2 3 \
        neighbor_alltoallv --neighborhood "graph:$graph" -m 8:8
fi
exit $((failed > 0))
