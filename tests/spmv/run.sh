#!/usr/bin/env bash
# docs/examples/spmv.c equals the serial product: generated matrices and Matrix
# Market files, numbers of ranks and rows, one node and several, reordered or not.
# Bad files are refused with their line.
# usage: tests/spmv/run.sh BUILD_DIR [long]
set -u
# shellcheck source=tests/script.sh
. "$(dirname "$0")/../script.sh"

examples=$here/../../docs/examples
try "spmv: compiled" cc -std=c17 -O2 -Wall -Wextra -Werror \
    -I "$here/../../include" -I "$build/include" -o "$work/spmv" \
    "$examples/spmv.c" "$examples/matrix.c" -L "$build/lib" -lcatena \
    -Wl,-rpath,"$build/lib" -lm || exit 1

cat >"$work/general.mtx" <<'END'
%%MatrixMarket matrix coordinate real general
% a comment, then an empty line

5 5 7
1 1 2.5
2 5 -1e-3
5 2 4
3 3 1
3 3 1
4 1 0.5
5 5 -7
END
cat >"$work/symmetric.mtx" <<'END'
%%MatrixMarket MATRIX Coordinate Integer Symmetric
4 4 4
1 1 3
3 1 -2
4 2 5
4 4 1
END
printf '%%%%MatrixMarket matrix coordinate pattern general\n3 3 2\n1 3\n3 1\n' \
    >"$work/pattern.mtx"

# equal NAME RANKS[:NODE[:DEAL]] OPTION...: the products are those of one process
equal() {
    local name=$1 ranks node deal
    IFS=: read -r ranks node deal <<<"$2"
    shift 2
    timeout 100 "$prun" -n "$ranks" ${node:+--ppn "$node"} \
        ${deal:+--map-by "$deal"} "$work/spmv" -t 2 "$@" >"$out" 2>"$err" &&
        grep -q "^difference from serial products" "$out" &&
        [ "$(grep -c '^\(blocking\|overlap\|persistent\) ' "$out")" = 3 ]
    verdict "spmv: $name, ranks $ranks${node:+ by $node}" $?
}

layouts="1 5 8:3:node" sides="1 7"
[ "${2:-}" != long ] || layouts="1 2 3 4 5 7 8:3 8:3:node 16:4:node" sides="1 2 7 20"
export CATENA_HEAP_SIZE=256m # of each virtual node
for layout in $layouts; do
    for side in $sides; do
        equal "2-D, side $side" "$layout" -n "$side"
        equal "3-D, side $side, random entries, reordered" "$layout" -d 3 \
            -n "$side" -e 2 -r
    done
    for file in general symmetric pattern; do
        equal "$file" "$layout" -f "$work/$file.mtx" -r
    done
done

# Dealt round robin, blocks that follow each other come together again.
equal "dealt, reordered" 8:4:node -n 40 -r &&
    awk '/go between nodes/ { exit !($1 < $9) }' "$out"
verdict "spmv: less goes between nodes" $?

equal "symmetric, as it is dealt" 2 -f "$work/symmetric.mtx"
grep -q "4 rows, 6 entries" "$out"
verdict "spmv: both halves of a symmetric matrix" $?

# refuses LINE WORDS TEXT: with 3 ranks, in one line
refuses() {
    printf '%b' "$3" >"$work/bad.mtx"
    ! timeout 100 "$prun" -n 3 "$work/spmv" -f "$work/bad.mtx" >"$out" 2>"$err" &&
        grep -qF "bad.mtx:$1: expected $2" "$err" &&
        [ "$(grep -c expected "$err")" = 1 ]
    verdict "spmv: refuses line $1: $2" $?
}
head='%%MatrixMarket matrix coordinate real general\n'
refuses 1 "%%MatrixMarket matrix coordinate" "%%MatrixMarket matrix array real general\n"
refuses 1 "real, integer or pattern" "%%MatrixMarket matrix coordinate complex general\n"
refuses 1 "general or symmetric" "%%MatrixMarket matrix coordinate real hermitian\n"
refuses 0 "%%MatrixMarket matrix coordinate" ""
refuses 2 "rows, as many columns, and entries" "${head}2 3 1\n"
refuses 3 "an entry (row and column from 1 to 2, a number)" "${head}2 2 2\n3 1 1\n"
refuses 3 "an entry (row and column from 1 to 2, a number)" "${head}2 2 2\n1 1\n"
refuses 4 "an entry (row and column from 1 to 2, a number)" "${head}2 2 2\n1 1 1\n1 2 1 7\n"
refuses 3 "an entry (row and column" "${head}2 2 2\n1 1 1\n"
refuses 4 "no more entries" "${head}2 2 1\n1 1 1\n2 2 1\n"
refuses 3 "an entry of the lower triangle" \
    "%%MatrixMarket matrix coordinate real symmetric\n2 2 1\n1 2 1\n"
! timeout 100 "$prun" -n 2 "$work/spmv" -f "$work/none.mtx" >"$out" 2>"$err" &&
    [ "$(grep -c "none.mtx: No such file" "$err")" = 1 ]
verdict "spmv: a file that is not there" $?
! timeout 100 "$prun" -n 2 "$work/spmv" -n x >"$out" 2>"$err" &&
    grep -q "^usage: spmv" "$err"
verdict "spmv: usage" $?
exit $failed
