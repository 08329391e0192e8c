#!/usr/bin/env bash
# Install into a prefix of its own; compile, link and run the examples there.
# usage: tests/fault/install.sh BUILD_DIR
set -u
build=$1
source_dir=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0
failed=0

case_() {
    local name=$1
    shift
    if "$@" >"$work/log" 2>&1; then
        echo "ok - $name"
        passed=$((passed + 1))
    else
        echo "not ok - $name"
        tail -5 "$work/log"
        failed=$((failed + 1))
    fi
}

only_public_symbols() {
    ! nm -D --defined-only "$library" | awk '$2 ~ /[A-Z]/ { print $3 }' |
        grep -v '^catena_' | grep .
}

# Pictures are left out where there is no libpng.
picture_flags() {
    pkg-config --exists libpng &&
        echo "-DHALO_PNG $(pkg-config --cflags --libs libpng)"
}

compile() {
    cc -std=c17 "$source_dir/docs/examples/$1.c" -o "$work/$1" \
        $(PKG_CONFIG_PATH="$(dirname "$(find "$work/prefix" -name catena.pc)")" \
            pkg-config --cflags --libs catena) $(picture_flags)
}

run() {
    LD_LIBRARY_PATH="$(dirname "$library")" \
        "$work/prefix/bin/prun" -n 4 --ppn 2 --timeout 60 "$work/$1" "${@:2}"
}

example() {
    compile "$1" && run "$1"
}

paints() {
    run halo -s 60x90 -n 50 -o "$work/heat.png" &&
        cmp -n 4 "$work/heat.png" <(printf '\x89PNG')
}

case_ "install" env DESTDIR= meson install -C "$build" --no-rebuild --quiet \
    --destdir "$work/root"
mkdir -p "$work/prefix"
cp -a "$work"/root/usr/local/. "$work/prefix/"
find "$work/prefix" -name catena.pc -exec \
    sed -i "s|^prefix=.*|prefix=$work/prefix|" {} +
library=$(find "$work/prefix" -name libcatena.so.0)
case_ "soname libcatena.so.0" test -n "$library"
case_ "only catena_ symbols are exported" only_public_symbols
case_ "the installed bench finds its library" \
    "$work/prefix/bin/catena-bench" barrier -i 5
for program in "$source_dir"/docs/examples/*.c; do
    name=$(basename "$program" .c)
    case_ "example $name" example "$name"
done
for options in "-k 5 -x blocking -s 37x51" "-p -x persistent -s 40x31 -g 1x4" \
    "-p -k 5 -r -s 9x8 -n 7"; do
    case_ "example halo $options" run halo $options
done
if [ -n "$(picture_flags)" ]; then
    case_ "example halo paints" paints
fi
echo "# $passed passed, $failed failed"
[ "$failed" -eq 0 ]
