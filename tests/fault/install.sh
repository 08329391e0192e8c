#!/usr/bin/env bash
# Install to a private prefix; compile, link and run the examples there.
# usage: tests/fault/install.sh BUILD_DIR
set -u
# shellcheck source=tests/script.sh
. "$(dirname "$0")/../script.sh"
examples=$here/../../docs/examples
prefix=$work/prefix
cp -r "$examples" "$work/examples"
examples=$work/examples
sed -i 's/nodes = 64/nodes = 4/' "$examples/simulate.c"
sed -i 's/\.steps = 200/.steps = 20/' "$examples/halo.c"

# exports LIBRARY PATTERN: it exports symbols, and only such. The only absolute
# symbols are the versions' own.
exports() {
    local symbols
    symbols=$(nm -D --defined-only "$1" | awk '$2 ~ /[B-Z]/ { print $3 }')
    [ -n "$symbols" ] && ! grep -vE "^($2)\$" <<<"$symbols"
}

# What is of the simulator is in its library alone.
no_simulator() {
    ! nm -D --defined-only "$library" | grep -E 'catena_(sim|machine|model)_'
}

# The loader refuses the libcatena of another release.
needs_release() {
    readelf -V "$simulator" | grep "Name: CATENA_PRIVATE_$version "
}

# Without libpng there are no pictures.
picture_flags() {
    pkg-config --exists libpng &&
        echo "-DHALO_PNG $(pkg-config --cflags --libs libpng)"
}

package() {
    PKG_CONFIG_PATH=$(dirname "$(find "${at:-$prefix}" -name catena.pc)") \
        pkg-config "$@"
}

# shellcheck disable=SC2046
compile() {
    local name=catena
    grep -q '#include <catena/sim.h>' "$examples/$1.c" && name=catena-sim
    cc -std=c17 "$examples/$1.c" -o "$work/$1" \
        $(package --cflags --libs $name) $(picture_flags)
}

run() {
    LD_LIBRARY_PATH=$(dirname "$library") \
        "$prefix/bin/prun" -n 4 --ppn 2 --timeout 60 \
        $([ "$1" != survivors ] || echo --continuous) "$work/$1" "${@:2}"
}

example() { compile "$1" && run "$1"; }

# Errors of libcatena-sim are those of catena_last_error, too.
last_error() {
    cat >"$work/last.c" <<'END'
#include <catena/catena.h>
#include <catena/model.h>
#include <string.h>
int main(void)
{
    catena_machine_t *machine;
    return catena_machine_open("nowhere", &machine) != CATENA_ERR_ARG ||
           strstr(catena_last_error(), "nowhere") == NULL;
}
END
    # shellcheck disable=SC2046
    cc "$work/last.c" -o "$work/last" $(package --cflags --libs catena-sim) &&
        LD_LIBRARY_PATH=$(dirname "$library") "$work/last"
}

paints() {
    run halo -s 60x90 -n 50 -o "$work/heat.png" &&
        cmp -n 4 "$work/heat.png" <(printf '\x89PNG')
}

# The package of CMake of a prefix: both targets, from another folder. The second prefix
# takes over what CMake knows of the compiler.
cmake_package() {
    mkdir -p "$work/cmake" && cp "$examples/first.c" "$examples/simulate.c" "$work/cmake" &&
        cat >"$work/cmake/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.16)
project(first C)
find_package(catena 1.0 REQUIRED)
add_executable(first first.c)
target_link_libraries(first catena::catena)
add_executable(simulate simulate.c)
target_link_libraries(simulate catena::sim)
END
    cmake -S "$work/cmake" -B "$work/cmake/build" -U 'catena*' -DCMAKE_PREFIX_PATH="$1" &&
        cmake --build "$work/cmake/build" &&
        "$prefix/bin/prun" -n 2 "$work/cmake/build/first" &&
        "$work/cmake/build/simulate"
}

# An installation of archives only: programs contain libcatena, and the libraries
# that it needs are linked by pkg-config and by CMake.
archives() {
    local at=$work/archives name
    cp -r "$prefix" "$at" && find "$at" -name 'libcatena*.so*' -delete &&
        find "$at" -name 'catena*.pc' -exec sed -i "s|^prefix=.*|prefix=$at|" {} + ||
        return 1
    for name in first:catena simulate:catena-sim; do
        # shellcheck disable=SC2046
        cc -std=c17 "$examples/${name%:*}.c" -o "$work/archived-${name%:*}" \
            $(package --static --cflags --libs "${name#*:}") || return 1
        ! ldd "$work/archived-${name%:*}" | grep libcatena || return 1
    done
    "$prefix/bin/prun" -n 2 "$work/archived-first" | grep -c 'of 2 received' |
        grep -x 2 && "$work/archived-simulate"
}
archives_by_cmake() {
    cmake_package "$work/archives" && ! ldd "$work/cmake/build/first" | grep libcatena
}

# It is no package for a program that needs a later version.
cmake_refuses() {
    sed -i 's/catena 1.0/catena 99.0/' "$work/cmake/CMakeLists.txt"
    ! cmake -S "$work/cmake" -B "$work/cmake/build" &&
        grep -q 'version: 1' "$err"
}

try "install" meson install -C "$build" --no-rebuild --quiet \
    --destdir "$work/root"
mv "$work/root/usr/local" "$prefix"
find "$prefix" -name 'catena*.pc' -exec sed -i "s|^prefix=.*|prefix=$prefix|" {} +
library=$(find "$prefix" -name libcatena.so.1)
try "soname libcatena.so.1" test -n "$library"
release=$(package --modversion catena-sim)
version=${release//-/_} # as a symbol version
simulator=$(find "$prefix" -name "libcatena-sim.so.$release")
try "soname libcatena-sim.so.$release" test -n "$simulator"
try "libcatena exports catena_ symbols, each with a version" exports "$library" \
    "catena_.*@@CATENA_1\.0|ctn_(log_write|boot_set_simulates)@@CATENA_PRIVATE_${version//./\\.}"
try "libcatena has nothing of the simulator" no_simulator
try "libcatena-sim exports the simulator, machines and models" \
    exports "$simulator" 'catena_(sim|machine|model)_.*@@CATENA_SIM_1\.0'
try "libcatena-sim needs the libcatena of its release" needs_release
try "catena-prun is prun" "$prefix/bin/catena-prun" -n 2 --bind-to none true
for command in prun catena-prun catena-info catena-bench; do
    try "bash completes $command" grep -q "complete .*$command" \
        "$prefix/share/bash-completion/completions/$command"
    try "fish completes $command" grep -q "for command in .*$command" \
        "$prefix/share/fish/vendor_completions.d/$command.fish"
    try "zsh completes $command" grep -q "^#compdef .*$command" \
        "$prefix/share/zsh/site-functions/_catena"
done
try "the installed bench finds its library" "$prefix/bin/catena-bench" barrier -i 5
for program in "$examples"/*.c; do
    name=$(basename "$program" .c)
    case "$name" in
    inside_mpi | fft | spmv | matrix) continue ;; # tests/mpi, fft, spmv build them
    esac
    try "example $name" example "$name"
done
if command -v cmake >/dev/null; then
    try "a program by CMake" cmake_package "$prefix"
    try "CMake refuses a later version" cmake_refuses
else
    echo "skip - a program by CMake: there is no cmake"
fi
if [ -z "$(find "$prefix" -name libcatena.a)" ]; then
    echo "skip - a program with libcatena.a: this build makes shared libraries only"
else
    try "a program with libcatena.a" archives
    ! command -v cmake >/dev/null ||
        try "a program with libcatena.a by CMake" archives_by_cmake
fi
try "errors of libcatena-sim are kept for catena_last_error" last_error
for options in "-k 5 -x blocking -s 37x51" "-p -x persistent -s 40x31 -g 1x4" \
    "-p -k 5 -r -s 9x8 -n 7"; do
    # shellcheck disable=SC2086
    try "example halo $options" run halo $options
done
[ -z "$(picture_flags)" ] || try "example halo paints" paints
exit $((failed > 0))
