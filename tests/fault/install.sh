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

example() {
    local name=$1
    cc -std=c17 "$source_dir/docs/examples/$name.c" -o "$work/$name" \
        $(PKG_CONFIG_PATH="$(dirname "$(find "$work/prefix" -name catena.pc)")" \
            pkg-config --cflags --libs catena) &&
        LD_LIBRARY_PATH="$(dirname "$library")" \
            "$work/prefix/bin/prun" -n 4 --ppn 2 --timeout 60 "$work/$name"
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
echo "# $passed passed, $failed failed"
[ "$failed" -eq 0 ]
