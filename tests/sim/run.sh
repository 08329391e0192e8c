#!/usr/bin/env bash
# The simulator: the rank tests in layouts that no machine here has, and runs
# drawn from seeds.
# usage: tests/sim/run.sh BUILD_DIR [SEEDS [SPLITS]]
# SEEDS: how many runs of any kind; SPLITS: how many more of splits, and of
# neighborhoods
# RANKS_QUICK=1: fewer layouts
set -u
build=$1
seeds=500
splits=150
if [ -n "${RANKS_QUICK:-}" ]; then
    seeds=60
    splits=30
fi
seeds=${2:-$seeds}
splits=${3:-$splits}
. "$(dirname "$0")/../tally.sh"

# layout PROGRAM LAYOUT [SEED]: as tests/ranks/rank_test.h says
layout() {
    beside "$*" env RANK_TEST_SEED="${3:-1}" timeout 300 \
        "$build/tests/ranks/ranks_$1" --sim "$2"
}

# random FIRST COUNT [RANKS [KIND]]: in parts, for all cores
random() {
    local first=$1 count=$2 part
    part=$(((count + 3) / 4))
    while [ "$count" -gt 0 ]; do
        [ "$part" -le "$count" ] || part=$count
        beside "random $first $part ${*:3}" timeout 600 \
            "$build/tests/sim/sim_random" "$first" "$part" "${@:3}"
        first=$((first + part))
        count=$((count - part))
    done
}

# What takes longest comes first.
random 1 "$seeds"
random 100001 "$splits" 200 split
random 500001 "$splits" 60 order
random 300001 "$((splits / 2))" 100 collectives
random 400001 "$((splits / 3))" 100 neighborhoods
# Enough ranks for cheng:128 to have several sorters.
random 200001 $((splits / 100 + 1)) 500-900 "splits of the world"
layout coll 1+1+1
if [ -z "${RANKS_QUICK:-}" ]; then
    CATENA_TOPOLOGY="pack:2 numa:2 l3:2 core:1 pu:2" layout coll 4+1
    for nodes in 1 :3+1+5 7; do
        layout coll $nodes
    done
    for seed in 1 2 3 4; do
        layout collmix 3+1+5 $seed
        layout collmix :2+4+1 $seed
        layout collmix :3+1+5 $((seed + 5))
    done
fi
layout collmix 1+3
layout order 3+1+5
for program in alltoall alltoallv nonblocking groups split; do
    layout $program 3+1+5
    layout $program :2+4+1 2
    if [ -z "${RANKS_QUICK:-}" ]; then
        layout $program 1
        layout $program 1+1+1+1+1
        layout $program :3+1+5 3
        layout $program 4+4+4+4 4
        layout $program 13 5
    fi
done
layout mismatch 4
layout mismatch 2+2 2
layout mismatch :2+1+3 3
for program in neighbor neighborbad neighborrow splitbad; do
    layout $program 3+1+5
    layout $program :2+4+1 2
done
if [ -z "${RANKS_QUICK:-}" ]; then
    for seed in 3 4 5; do
        layout neighbor 13 $seed
        layout neighbor 1+1+1+1+1 $seed
        layout neighbor 4+4+4 $seed
    done
fi
layout split :9+4+20
layout split 1+1 # many splits: the ranks are few
settle
echo "# $passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
