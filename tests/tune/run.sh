#!/usr/bin/env bash
# catena-bench --tune: the contents of its file.
# usage: tests/tune/run.sh BUILD_DIR
set -u
# shellcheck source=tests/script.sh
. "$(dirname "$0")/../script.sh"
file=$work/rules/here.json
mkdir "$work/rules"

# tune PRUN-OPTIONS...: a quick run
tune() {
    "$prun" --timeout 300 "$@" -x UCX_TLS=tcp,self "$bench" alltoall \
        --tune "$file" -m 8:16 -i 5
}

# rules FILTER: a Python expression on a list of rules r
rules() {
    python3 -c "
import json, sys
r = [rule for rules in json.load(open('$file')).values()
     if isinstance(rules, list) for rule in rules]
at = lambda nodes, ppn: [x for x in r if (x.get('nodes'), x.get('ppn')) == (nodes, ppn)]
sys.exit(not ($1))"
}

first() { tune -n 4 --ppn 2 && rules 'at(2, 2)'; }
try "rules for this layout" first

second() {
    # A radix that --tune never writes.
    sed -i 's/"algorithm": "[^"]*"/"algorithm": "bruck", "radix": 9/' "$file"
    tune -n 5 --ppn 3 &&
        rules 'any("radix" in x for x in at(2, 2)) and r[0] in at(2, 3)'
}
try "other layouts stay, new rules come first" second

third() {
    tune -n 4 --ppn 2 &&
        rules 'at(2, 3) and not any("radix" in x for x in r)'
}
try "its own rules are replaced" third
try "the library takes the file" env CATENA_TUNING="$file" "$prun" \
    --timeout 300 -n 4 --ppn 2 "$bench" alltoall -m 8:64 -i 5

# Each list gets rules, for the subgroups that its algorithms run in.
every() {
    local file=$work/all.json name
    "$prun" --timeout 300 -n 4 --ppn 2 -x UCX_TLS=tcp,self -x CATENA_WAIT=sleep "$bench" \
        --tune "$file" -m 8:16 -i 5 || return
    python3 -c "
import json
r = json.load(open('$file'))
lists = {k: v for k, v in r.items() if isinstance(v, list)}
assert len(lists) == 13 and all(lists.values()), lists
at = lambda name, keys: [x for x in lists[name] if keys.items() <= x.items()]
network, node = {'ranks': 2, 'nodes': 2}, {'ranks': 2, 'nodes': 1}
for name in ('barrier', 'allreduce', 'allgather', 'reduce_scatter'):
    assert at(name, network) and not at(name, node), name
for name in ('bcast', 'reduce', 'gather', 'scatter'):
    assert at(name, network) and at(name, node), name
assert at('scan', node) and at('split', {'ranks': 4})
assert at('neighbor_alltoall', {'nodes': 2, 'ppn': 2})
assert not any('bytes_to' in x for x in at('gather', network))" || return
    for name in bcast split neighbor_alltoall; do
        CATENA_TUNING="$file" "$prun" --timeout 300 -n 4 --ppn 2 \
            -x UCX_TLS=tcp,self "$bench" "$name" -i 5 >"$work/text" &&
            grep -q "rule . of tuning all" "$work/text" || return
    done
}
try "every collective with rules" every

none() {
    ! "$bench" gatherv --tune "$file" && ! "$bench" --tune "$file" -a direct
}
try "collectives without rules and other options are refused" none

other() {
    echo '{"something": "else"}' >"$file"
    ! tune -n 2 && [ "$(wc -l <"$err")" -ge 1 ] &&
        [ "$(cat "$file")" = '{"something": "else"}' ]
}
try "what is no tuning is left alone" other
try "no other files are left" [ "$(ls -A "$work/rules")" = here.json ]
exit $((failed > 0))
