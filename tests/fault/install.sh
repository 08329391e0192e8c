#!/usr/bin/env bash
# Install to a private prefix; compile, link and run the examples there.
# usage: tests/fault/install.sh BUILD_DIR
set -u
# shellcheck source=tests/script.sh
. "$(dirname "$0")/../script.sh"
examples=$here/../../docs/examples
prefix=$work/prefix

# The only absolute symbol is the version's own.
only_public_symbols() {
    ! nm -D --defined-only "$library" | awk '$2 ~ /[B-Z]/ { print $3 }' |
        grep -v '^catena_.*@@CATENA_0\.1$' | grep .
}

# Without libpng there are no pictures.
picture_flags() {
    pkg-config --exists libpng &&
        echo "-DHALO_PNG $(pkg-config --cflags --libs libpng)"
}

# shellcheck disable=SC2046
compile() {
    cc -std=c17 "$examples/$1.c" -o "$work/$1" \
        $(PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name catena.pc)") \
            pkg-config --cflags --libs catena) $(picture_flags)
}

run() {
    LD_LIBRARY_PATH=$(dirname "$library") \
        "$prefix/bin/prun" -n 4 --ppn 2 --timeout 60 "$work/$1" "${@:2}"
}

example() { compile "$1" && run "$1"; }

paints() {
    run halo -s 60x90 -n 50 -o "$work/heat.png" &&
        cmp -n 4 "$work/heat.png" <(printf '\x89PNG')
}

try "install" meson install -C "$build" --no-rebuild --quiet \
    --destdir "$work/root"
mv "$work/root/usr/local" "$prefix"
find "$prefix" -name catena.pc -exec sed -i "s|^prefix=.*|prefix=$prefix|" {} +
library=$(find "$prefix" -name libcatena.so.0)
try "soname libcatena.so.0" test -n "$library"
try "only catena_ symbols are exported, each with a version" only_public_symbols
try "the installed bench finds its library" "$prefix/bin/catena-bench" barrier -i 5
for program in "$examples"/*.c; do
    name=$(basename "$program" .c)
    try "example $name" example "$name"
done
for options in "-k 5 -x blocking -s 37x51" "-p -x persistent -s 40x31 -g 1x4" \
    "-p -k 5 -r -s 9x8 -n 7"; do
    # shellcheck disable=SC2086
    try "example halo $options" run halo $options
done
[ -z "$(picture_flags)" ] || try "example halo paints" paints
exit $((failed > 0))
