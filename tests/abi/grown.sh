#!/usr/bin/env bash
# Build the library of a later release, whose structs have grown; run programs
# of either release with the library of the other one.
# usage: tests/abi/grown.sh BUILD_DIR
set -u
# shellcheck source=tests/script.sh
. "$(dirname "$0")/../script.sh"
root=$(realpath "$here/../..")
later=$work/later
today=$(sed -n 's/^#define CATENA_VERSION_STRING "\(.*\)"/\1/p' \
    "$root/include/catena/version.h")
next=${today%.*}.999

# edit FILE SCRIPT: sed, which must change the file
edit() {
    sed -i.before "$2" "$later/$1"
    if cmp -s "$later/$1" "$later/$1.before"; then
        echo "$1 has nothing for: $2" >&2
        return 1
    fi
}

# A new last member in structs that are read and one that is filled, new members
# of a struct behind a handle, and a new function.
grow() {
    mkdir "$later" "$later/tests" &&
        cp -r "$root"/{meson.build,meson_options.txt,include,lib,transports,tools} \
            "$later" &&
        cp -r "$root/tests/oracle" "$later/tests" || return 1
    edit meson.build "s/'$today'/'$next'/" &&
        edit include/catena/version.h \
            "s/\"$today\"/\"$next\"/; s/VERSION_PATCH [0-9]*$/VERSION_PATCH 999/" &&
        edit include/catena/context.h '/^} catena_config_t;/i long grown;' &&
        edit include/catena/context.h '/^} catena_place_t;/i long grown;' &&
        edit include/catena/context.h \
            '/^} catena_place_t;/a CATENA_API int catena_grown(void);' &&
        edit include/catena/group.h '/^} catena_split_t;/i long grown;' &&
        edit include/catena/neighbor.h \
            '/^} catena_neighborhood_info_t;/i long grown;' &&
        edit lib/type/datatype.h '/^typedef struct ctn_type {/a long grown[3];' &&
        edit lib/context.c 's/\.rank = (int)context->boot->rank,/.grown = 42, &/' &&
        edit lib/catena.c '$a int catena_grown(void) { return 42; }' &&
        edit lib/catena.map '$a CATENA_NEXT { global: catena_grown; } CATENA_1.0;'
}

build_later() {
    grow && meson setup "$later/build" "$later" -Dtests=false \
        -Doptimization=0 -Ddebug=false &&
        ninja -C "$later/build" "lib/libcatena.so.$next"
}

# compile PROGRAM SOURCE TREE BUILD [OPTION...]
compile() {
    cc -std=c17 "$2" -o "$work/$1" -I"$3/include" \
        -L"$4/lib" -lcatena "${@:5}"
}

# run BUILD PROGRAM...: 4 ranks on 2 nodes, with the library of this build
run() {
    LD_LIBRARY_PATH=$1/lib "$prun" -n 4 --ppn 2 --timeout 60 "$work/$2" "${@:3}"
}

all_as_expected() {
    local said
    said=$(run "$@") && [ "$(grep -cx 'as expected' <<<"$said")" -eq 4 ]
}

same_with_both() {
    compile "$1" "$root/docs/examples/$1.c" "$root" "$build" || return 1
    run "$build" "$@" | sort >"$work/today" && [ -s "$work/today" ] &&
        run "$later/build" "$@" | sort | diff "$work/today" -
}

does_not_start() {
    ! run "$build" calls "$today" 0 &&
        grep -q "version \`CATENA_NEXT' not found" "$err"
}

try "the library of a later release builds" build_later
[ "$failed" -eq 0 ] || exit 1
try "a program of this release compiles" \
    compile old "$here/grown.c" "$root" "$build"
try "a program of the later release compiles" \
    compile new "$here/grown.c" "$later" "$later/build" -DGROWN
try "a program with the new function compiles" \
    compile calls "$here/grown.c" "$later" "$later/build" -DGROWN -DCALLS_GROWN
try "old program, old library" all_as_expected "$build" old "$today" 0
try "old program, new library" all_as_expected "$later/build" old "$next" 0
try "new program, old library, new members zero" \
    all_as_expected "$build" new "$today" 0
try "new program, old library, new members refused" \
    all_as_expected "$build" new "$today" 7
try "new program, new library, new members known" \
    all_as_expected "$later/build" new "$next" 7
try "new function, new library" all_as_expected "$later/build" calls "$next" 0
try "new function, old library: the loader names the version" does_not_start
for name in split mesh grid; do
    try "example $name says the same with both libraries" same_with_both "$name"
done
exit $((failed > 0))
