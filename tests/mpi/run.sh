#!/usr/bin/env bash
# Unmodified MPI programs with catena's library preloaded, under Open MPI and MPICH
# where these are installed; and catena's own programs under MPICH's launcher,
# which offers no PMIx.
# usage: tests/mpi/run.sh BUILD_DIR [long]
set -u
# shellcheck source=tests/script.sh
. "$(dirname "$0")/../script.sh"

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export UCX_NET_DEVICES=lo
# Without the plugins of hwloc, launchers and ranks start faster.
export HWLOC_PLUGINS_PATH=
if [ "${2:-}" = long ]; then
    sizes="1 2 5 8" rounds=300 far=100 forms="MPIF_H MODULE F08"
else
    sizes='' rounds=30 far=20 forms="MPIF_H F08"
fi
here_library() { echo "$build/tools/libcatena-mpi-$flavor.so"; }

# job RANKS [NAME=VALUE...] COMMAND...: a job with the library preloaded
job() {
    local ranks=$1 variables=("${preload:-LD_PRELOAD=$(here_library)}")
    shift
    while [[ $1 == *=* ]]; do
        variables+=("$1")
        shift
    done
    local each=()
    if [ "$flavor" = openmpi ]; then
        timeout 100 mpirun.openmpi --oversubscribe --mca pml ob1 -n "$ranks" \
            env "${variables[@]}" "$@"
    else
        for variable in "${variables[@]}"; do
            each+=(-genv "${variable%%=*}" "${variable#*=}")
        done
        timeout 100 mpiexec.mpich -n "$ranks" "${each[@]}" "$@"
    fi
}

# says COUNT PATTERN: so many lines of the last case have it, or with +: some
says() {
    local found
    found=$(cat "$out" "$err" | grep -c -- "$2")
    if [ "$1" = + ]; then [ "$found" -gt 0 ]; else [ "$found" -eq "$1" ]; fi
}

checks() {
    local check=$work/check-$flavor ranks
    try "$flavor: a program to preload into" "mpicc.$flavor" -std=gnu17 -O1 -Wall \
        -Wno-stringop-overflow \
        -Wextra -Werror -o "$check" "$here/check.c" || return
    for ranks in $sizes; do
        try "$flavor: all collectives, $ranks ranks" job $ranks "$check" $rounds $ranks
    done
    try "$flavor: all collectives, 3 ranks" job 3 CATENA_MPI_STATS=1 "$check" 60 $seed
    says $calls ' taken  ' && says 0 'catena is off'
    verdict "$flavor: all calls are taken, and counted" $?
    job 2 CATENA_MPI_STATS=1 CATENA_MPI_SKIP=bcast,scan "$check" $rounds >"$out" 2>"$err"
    says 0 ' bcast  *[0-9]* taken' && says 0 ' scan  *[0-9]* taken' &&
        says + 'CATENA_MPI_SKIP' && says + ' barrier  *[0-9]* taken'
    verdict "$flavor: CATENA_MPI_SKIP" $?
    job 2 CATENA_MPI_STATS=1 CATENA_MPI=off CHECK_MPI=1 "$check" $rounds >"$out" 2>"$err"
    says 0 ' taken  ' && says + 'catena is off'
    verdict "$flavor: CATENA_MPI=off" $?
    job 2 CATENA_MPI_STATS=1 CHECK_LEVELS=1 CHECK_MPI=1 "$check" 10 >"$out" 2>"$err"
    says 0 ' taken  ' && says 1 'another rank cannot use it' && says 1 '^ok'
    verdict "$flavor: ranks with other levels of threads" $?
    job 2 CATENA_MPI_STATS=1 CATENA_HEAP_SIZE=1000t CHECK_MPI=1 "$check" 10 >"$out" 2>"$err"
    says 1 'catena does not start; the job goes on' && says 1 '^ok'
    verdict "$flavor: a rank that cannot start catena" $?
    job 1 CATENA_MPI_SKIP=broadcast "$check" 1 >"$out" 2>"$err"
    says 1 '"broadcast" is no collective'
    verdict "$flavor: a wrong name in CATENA_MPI_SKIP" $?
}

# The interfaces of Fortran.
fortran() {
    local form
    command -v "mpif90.$flavor" gfortran >"$out" || {
        echo "skip - $flavor, Fortran: mpif90.$flavor or gfortran not found"
        return
    }
    for form in $forms; do
        try "$flavor: a program in Fortran, $form" "mpif90.$flavor" -cpp -D$form \
            -fallow-argument-mismatch -w -o "$work/$form-$flavor" "$here/check.f90"
        job 3 CATENA_MPI_STATS=1 "$work/$form-$flavor" >"$out" 2>"$err"
        # MPICH's mpi_f08 calls PMPI_Init, so nothing is taken
        [ "$flavor $form" = "mpich F08" ] || says + ' alltoallw  *5 taken' &&
            says 1 '^ok$'
        verdict "$flavor: Fortran, $form" $?
    done
}

# The example that starts catena inside MPI.
example() {
    try "$flavor: inside_mpi.c" "mpicc.$flavor" -std=c17 -Wall -Werror -o \
        "$work/inside-$flavor" -I "$here/../../include" \
        "$here/../../docs/examples/inside_mpi.c" -L "$build/lib" -lcatena \
        -Wl,-rpath,"$build/lib"
    preload=CATENA_MPI=off job 3 "$work/inside-$flavor" >"$out" 2>"$err" && says 1 '^1 + ... + 3 = 6$'
    verdict "$flavor: inside_mpi.c runs" $?
}

# Several of catena's nodes, over the network.
nodes() {
    # shellcheck disable=SC2016  # each rank expands it
    try "openmpi: two nodes" job 4 sh -c \
        'CATENA_BOOT_NODE=n$((OMPI_COMM_WORLD_RANK % 2)) exec "$0" "$1" 4' \
        "$work/check-openmpi" $far
}

# The library of one MPI in a program of the other.
mixed() {
    flavor=openmpi
    local preload
    preload=$(here_library)
    timeout 60 mpiexec.mpich -n 1 -genv LD_PRELOAD "$preload" "$work/check-mpich" 1 \
        >"$out" 2>"$err"
    local status=$?
    [ "$status" -eq 1 ] && says 1 'built for Open MPI, but the program uses'
    verdict "a library of the other MPI is refused" $?
}

# Under Hydra.
launcher() {
    local status port
    try "first.c" cc -std=c17 -I "$here/../../include" -o "$work/first" \
        "$here/../../docs/examples/first.c" -L "$build/lib" -lcatena \
        -Wl,-rpath,"$build/lib"
    timeout 60 mpiexec.hydra -n 4 "$work/first" >"$out" 2>"$err"
    status=$?
    [ $status -eq 1 ] && says 1 'CATENA_BOOT=tcp://HOST:PORT' && says 1 .
    verdict "Hydra without a boot: one line says what to do" $?
    port=$((20000 + $$ % 10000))
    CATENA_BOOT=tcp://127.0.0.1:$port timeout 60 mpiexec.hydra -n 4 "$work/first" \
        >"$out" 2>"$err"
    status=$?
    [ $status -eq 0 ] && says 4 'of 4 received'
    verdict "Hydra with CATENA_BOOT=tcp" $?
}

found=0
for flavor in openmpi mpich; do
    # Calls that are taken: blocking; with Open MPI also nonblocking. MPICH 4.0.2 has
    # an MPI_Ialltoall that is wrong in place for types with gaps: not with this seed.
    calls=22 seed=3
    [ $flavor = mpich ] || calls=$((2 * 22)) seed=12
    if command -v mpicc.$flavor >"$out" && [ -e "$(here_library)" ]; then
        found=$((found + 1))
        checks
        fortran
        example
    else
        echo "skip - $flavor: mpicc.$flavor not found; install its development package"
    fi
done
flavor=openmpi
[ -x "$work/check-openmpi" ] && nodes
[ $found -eq 2 ] && mixed
if command -v mpiexec.hydra >"$out"; then
    launcher
else
    echo "skip - Hydra: mpiexec.hydra not found; install mpich"
fi
exit $failed
