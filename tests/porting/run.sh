#!/usr/bin/env bash
# MPI programs and their ports, by the tables of docs/from-mpi.md: both print the
# same. A rank begins each line with its number.
# usage: tests/porting/run.sh BUILD_DIR [long]
set -u
# shellcheck source=tests/script.sh
. "$(dirname "$0")/../script.sh"
programs="types reductions groups requests addresses"
sizes=3
[ "${2:-}" != long ] || sizes="1 4 7"

if ! command -v mpicc.openmpi mpirun.openmpi >"$out"; then
    echo "skip - ports: mpicc.openmpi and mpirun.openmpi not found; install" \
        "libopenmpi-dev and openmpi-bin"
    exit 0
fi

flags=(-std=gnu17 -O1 -Wall -Wextra -Werror)

# build_both NAME: the program and its port
build_both() {
    mpicc.openmpi "${flags[@]}" -o "$work/$1_mpi" "$here/$1_mpi.c" &&
        cc "${flags[@]}" -I "$here/../../include" -o "$work/$1_catena" \
            "$here/$1_catena.c" -L "$build/lib" -lcatena \
            -Wl,-rpath,"$build/lib"
}

# start NAME RANKS: start both; what they print is in NAME_mpi.RANKS and
# NAME_catena.RANKS, their status and errors beside it
start() {
    local side run
    for side in mpi catena; do
        run=("$prun" --timeout 60 -n "$2")
        [ $side = catena ] ||
            run=(timeout 60 mpirun.openmpi --allow-run-as-root --oversubscribe
                --mca pml ob1 -n "$2")
        # Open MPI's jobs may fail that create one session directory at once.
        mkdir "$work/tmp/$1_$side.$2"
        {
            TMPDIR=$work/tmp/$1_$side.$2 "${run[@]}" "$work/$1_$side" >"$work/$1_$side.$2" \
                2>"$work/$1_$side.$2.err"
            echo $? >"$work/$1_$side.$2.status"
        } &
    done
}

# sorted FILE: the lines of rank 0, of rank 1, ..., each rank's in its order
sorted() { sort -s -n -t : -k 1,1 "$1"; }

# same NAME RANKS: both ended well, and printed the same
same() {
    local mpi=$work/$1_mpi.$2 catena=$work/$1_catena.$2
    cat "$mpi.err" "$catena.err" >&2
    if [ "$(cat "$mpi.status" "$catena.status")" != $'0\n0' ]; then
        echo "expected status 0; MPI: $(cat "$mpi.status")," \
            "catena: $(cat "$catena.status")"
        return 1
    fi
    [ -s "$mpi" ] && diff <(sorted "$mpi") <(sorted "$catena")
}

for name in $programs; do
    build_both "$name" 2>"$work/$name.err" &
done
wait
for name in $programs; do
    if ! [ -x "$work/${name}_mpi" ] || ! [ -x "$work/${name}_catena" ]; then
        cp "$work/$name.err" "$err"
        verdict "$name and its port compile" 1
        continue
    fi
    for ranks in $sizes; do
        start "$name" "$ranks"
    done
    wait
    for ranks in $sizes; do
        try "$name and its port on $ranks ranks" same "$name" "$ranks"
    done
done
exit $((failed > 0))
