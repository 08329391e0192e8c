#!/usr/bin/env bash
# ThreadSanitizer for the shared heap, which any thread may use (catena_malloc,
# catena_free). The rest belongs to one thread, or is kept from the progress thread
# by one lock (lib/core/entry.h), which is not tested here; the ranks of the
# simulator are no threads.
# usage: tests/checkers/threads.sh BUILD_DIR
set -u
# shellcheck source=tests/script.sh
. "$(dirname "$0")/../script.sh"
made=$build/threads

if ! printf 'int main(void) { return 0; }' |
    gcc -fsanitize=thread -x c - -o "$out.probe" 2>/dev/null || ! "$out.probe"; then
    echo "skip - threads: no ThreadSanitizer here"
    exit 0
fi
rm -f "$out.probe"
[ -f "$made/build.ninja" ] ||
    meson setup "$made" "$here/../.." -Dtests=true -Db_sanitize=thread -Doptimization=1 \
        -Db_lundef=false -Dwerror=false >"$out" 2>&1
ninja -C "$made" tests/unit/unit >"$out" 2>&1
verdict "threads: the build" $?
TSAN_OPTIONS=halt_on_error=0:exitcode=99 timeout 600 \
    "$made/tests/unit/unit" heap_threads >"$out" 2>"$err"
verdict "threads: the shared heap" $?
