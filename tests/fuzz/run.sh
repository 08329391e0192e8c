#!/usr/bin/env bash
# The fuzzers of this folder, made with clang and its sanitizers, for a limited
# time each, from their corpora.
# usage: tests/fuzz/run.sh BUILD_DIR [SECONDS]
set -u
# shellcheck source=tests/script.sh
. "$(dirname "$0")/../script.sh"
seconds=${2:-20}
made=$build/fuzzers

if ! printf 'int LLVMFuzzerTestOneInput(void) { return 0; }' |
    clang -fsanitize=fuzzer -x c - -o "$out.probe" 2>/dev/null; then
    echo "skip - fuzz: clang has no libFuzzer here"
    exit 0
fi
rm -f "$out.probe"
if [ ! -f "$made/build.ninja" ]; then
    # a loop that the sanitizers keep from being vectorized is a warning
    CC=clang meson setup "$made" "$here/../.." -Dtests=true -Dfuzz=true -Dsanitize=true \
        -Doptimization=1 -Db_lundef=false -Dwerror=false >"$out" 2>&1
fi
ninja -C "$made" tests/fuzz/fuzz_{machine,tuning,graph,levels,messages} \
    >"$out" 2>&1
verdict "fuzz: the fuzzers are built" $?
for name in machine tuning graph levels messages; do
    corpus=$(mktemp -d)
    ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1 \
        timeout $((seconds + 60)) "$made/tests/fuzz/fuzz_$name" \
        -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 \
        -artifact_prefix="$made/$name-" -print_final_stats=1 \
        "$corpus" "$here/corpus/$name" >"$out" 2>&1
    status=$?
    verdict "fuzz: $name" $status
    grep -E "stat::number_of_executed_units|DONE" "$out" | tr '\n' ' ' |
        sed 's/^/# /;s/ *$/\n/'
    rm -rf "$corpus"
done
