#!/usr/bin/env bash
# Completions of bash.
# usage: tests/docs/completions.sh BUILD_DIR
set -u
# shellcheck source=tests/script.sh
. "$(dirname "$0")/../script.sh"
. "$here/../../tools/completions/catena.bash"
PATH=$build/tools:$PATH

# complete_words WORD...: the completions of the last word
complete_words() {
    COMP_WORDS=("$@")
    COMP_CWORD=$(($# - 1))
    COMPREPLY=()
    "$(complete -p "$1" | sed 's/.* -F \([^ ]*\) .*/\1/')"
    printf '%s\n' "${COMPREPLY[@]}" | sort -u
}

# completes EXPECTED WORD...: the completions are these
completes() {
    [ "$(complete_words "${@:2}" | tr '\n' ' ')" = "$1 " ]
}

# same_options COMMAND: the options that --help describes
same_options() {
    diff <("$1" --help | grep -E '^ {2,6}-' | sed -E 's/^ +//; s/  .*//' |
        grep -oE '(^|[ ,])-{1,2}[A-Za-z?][A-Za-z-]*' | tr -d ' ,' | sort -u) \
        <(complete_words "$1" -)
}

for command in prun catena-info catena-bench; do
    try "$command completes the options of its --help" same_options "$command"
    try "$command has options" test "$(complete_words "$command" - | wc -l)" -gt 5
done
try "values of --bind-to" completes "core" prun --bind-to c
try "values after =" completes "map" prun --display = m
try "a directory of --output" completes "/usr" prun --output /us
try "an option after a value" completes "--map-by" prun -n 4 --ma
try "an option after :" completes "--wdir" prun -n 4 prun x : --wd
try "a program" completes "catena-info" prun -n 4 --bind-to core catena-inf
try "nothing of the program's own options" completes "" prun -n 4 prun --bi
exit $((failed > 0))
