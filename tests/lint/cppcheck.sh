#!/usr/bin/env bash
# Runs cppcheck on the library and the tools.
cd "$(dirname "$0")/../.." || exit 1
cppcheck -q --error-exitcode=1 --enable=warning,portability --std=c11 \
    --suppress=missingIncludeSystem --suppress=funcArgOrderDifferent \
    --suppress=nullPointerRedundantCheck --suppress=ctunullpointer \
    --suppress=uninitvar:tools/bench/measure.c \
    -D_GNU_SOURCE -D__x86_64__ -I include -I lib -I . lib transports tools &&
    echo "ok - cppcheck"
