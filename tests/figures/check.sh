#!/usr/bin/env bash
# The figures of docs/results: a few points of each, made again.
# usage: tests/figures/check.sh BUILD_DIR simulated | measured | FIGURE...
set -u
# shellcheck source=tests/script.sh
. "$(dirname "$0")/../script.sh"

# with_machine NAME FILE: the check fails with this machine file
with_machine() {
    ! "$here/../../docs/results/reproduce" --check --machine "$1=$2" "$build" \
        "${@:3}" >"$out" 2>"$err"
}

"$here/../../docs/results/reproduce" --check "$build" "${@:2}" 2>"$err"
[ $? -le 1 ] || verdict "figures: ${*:2}" 1
[ "$2" != measured ] || exit 0
# twice the latency
python3 - "$here/../../lib/model/machines/hpc-b.json" "$work/hpc-b.json" <<'END'
import json, sys
machine = json.load(open(sys.argv[1]))
machine["network"]["latency_ns"]["value"] *= 2
json.dump(machine, open(sys.argv[2], "w"))
END
with_machine hpc-b "$work/hpc-b.json" endpoints formulas mesh
verdict "figures: another latency is found" $?
