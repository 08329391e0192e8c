#!/usr/bin/env bash
# docs/examples/fft.c equals a serial transform: numbers of ranks and points that
# divide each other or not, one node and several, ranks dealt round-robin.
# usage: tests/fft/run.sh BUILD_DIR [long]
set -u
# shellcheck source=tests/script.sh
. "$(dirname "$0")/../script.sh"

pkg-config --exists fftw3 || {
    echo "skip - fft: fftw3 not found; install libfftw3-dev"
    exit 0
}
try "fft: compiled" cc -std=c17 -O2 -Wall -Wextra -Werror \
    -I "$here/../../include" -I "$build/include" -o "$work/fft" \
    "$here/../../docs/examples/fft.c" -L "$build/lib" -lcatena \
    -Wl,-rpath,"$build/lib" -lfftw3 -lm || exit 1

sizes="1 7 24"
layouts="1 4 5:2:node"
if [ "${2:-}" = long ]; then
    sizes="1 2 7 16 24 31 64"
    layouts="1 2 3 4 5 6 7 9 12 16 16:4 9:3 8:3:node 16:4:node 13:5"
fi
export CATENA_HEAP_SIZE=96m # of each virtual node
for layout in $layouts; do
    IFS=: read -r ranks node deal <<<"$layout"
    for size in $sizes; do
        for grid in slabs pencils; do
            timeout 100 "$build/tools/prun" -n "$ranks" ${node:+--ppn "$node"} \
                ${deal:+--map-by "$deal"} "$work/fft" "$size" $grid 2 \
                >"$out" 2>"$err" &&
                grep -q "^$size^3 on $ranks ranks.*difference from a serial transform" "$out"
            verdict "fft: $grid of $size^3, ranks $layout" $?
        done
    done
done
exit $failed
