#!/usr/bin/env bash
# catena-info: each part of its overview, and the problems that its doctor finds.
# Needs root, for machines in mount namespaces that lack something.
# usage: tests/fault/info.sh BUILD_DIR
set -u
# shellcheck source=tests/script.sh
. "$(dirname "$0")/../script.sh"
info=$build/tools/catena-info
deny=$build/tests/fault/deny
if [ "$(id -u)" != 0 ] || ! unshare -m true 2>/dev/null; then
    echo "skip - info: needs root, and mount namespaces"
    exit 0
fi
# What the environment of the test says is no matter of the cases.
for name in $(compgen -e | grep -E '^(CATENA|UCX|PMIX|PMI|OMPI|SLURM|PALS|FLUX)_') RANK WORLD_SIZE; do
    unset "$name"
done

export INFO_TEST=$$ # marks the processes of this test

# has PATTERN...: the output has a line with each of them
has() {
    local pattern
    missing=
    for pattern in "$@"; do
        grep -qE -- "$pattern" "$out" || missing=$pattern
    done
    [ -z "$missing" ]
}

# --- the overview ---

# shows NAME OPTIONS PATTERN...
shows() {
    # shellcheck disable=SC2086
    "$info" $2 >"$out" 2>"$err" && has "${@:3}"
    verdict "info: $1" $? "no line '$missing'"
}
facts=('^libraries$' '^  UCX: [0-9]+\.' '^  PMIx: .*[0-9]+\.' '^  hwloc: [0-9]+\.'
    '^  jansson: [0-9]+\.' '^  SCOTCH: ([0-9]+\.|no$)')
shows "libraries" --libraries "${facts[@]}"
shows "transports" --transports '^  on a node: shm' '^  between nodes: ucx tcp' \
    '^  UCX tcp: .*lo' '^  RDMA devices: '
shows "topology" --topology '^  sockets: [1-9]' '^  NUMA domains: [1-9]' '^  cores: [1-9]' \
    '^  processing units: [1-9]' '^  L3 caches: [0-9]' '^  units of this process: [1-9]'
shows "memory" --memory '^  cross-memory attach: (yes|no: .*; )' '^  shared heap: memfd' \
    '^  huge pages of shared memory: ' '^  /dev/shm size: ' '^  /dev/shm free: '
shows "limits" --limits '^  memory: [0-9.]+ [MGT]iB' '^  open files: ' '^  locked memory: ' \
    '^  stack: ' '^  address space: '
shows "algorithms" --algorithms '^  rules: built in' '^  hierarchy: numa:shm,node:shm,network:ucx' \
    '^  components: shm, p2p, ucx$' '^  alltoall: auto, direct' '^  bcast: .*binomial' \
    '^  split: auto, allgather, .*, hash, hash-plain, hash64$' \
    '^  neighborhoods: auto, direct'
shows "two parts" "--limits --libraries" "${facts[@]}" '^limits$'
! grep -q '^algorithms$' "$out"
verdict "info: no other parts" $?
shows "all parts by default" "" "${facts[@]}" '^catena$' '^  version: [0-9]' '^transports$' \
    '^topology$' '^memory$' '^limits$' '^algorithms$'
CATENA_HIERARCHY=node:p2p,network:p2p shows "the hierarchy of the environment" --algorithms \
    '^  hierarchy: node:p2p,network:p2p '
shows "-v prints the build" -v '^catena [0-9]' '^compiler: ' '^machine: ' '^optimized: ' \
    '^assertions: ' '^cross-memory attach: '
[ "$(wc -l <"$out")" -le 7 ]
verdict "info: -v prints nothing else" $?
"$info" --json >"$out" 2>"$err" && python3 - "$out" <<'END'
import json, sys
found = json.load(open(sys.argv[1]))
assert list(found) == ["catena", "libraries", "transports", "topology", "memory", "limits",
                       "algorithms"], list(found)
assert found["topology"]["cores"] > 0 and found["limits"]["memory_bytes"] > 0
assert "direct" in found["algorithms"]["alltoall"]
assert "onmpml" in found["algorithms"]["alltoall"] and "or" not in found["algorithms"]["alltoall"]
END
verdict "info: --json" $?
for words in "doctor --json" "--json -c" "--json --job 1"; do
    # shellcheck disable=SC2086
    "$info" $words >"$out" 2>"$err"
    [ $? -eq 2 ] && [ ! -s "$out" ] && grep -q -- '--json is for facts' "$err"
    verdict "info: $words is refused" $?
done
for words in --transports doctor; do
    (ulimit -n 8 && exec "$info" $words) >"$out" 2>"$err"
    [ $? -eq 1 ] && [ "$(cat "$out" "$err" | wc -l)" = 1 ] &&
        grep -q 'at least 16 open files, found 8; raise it (ulimit -n)' "$err"
    verdict "info: $words with few open files" $?
done
"$info" doctors >"$out" 2>"$err"
[ $? -eq 2 ]
verdict "info: an unknown word" $?

# --- the doctor ---

# finds NAME STATUS PATTERNS COMMAND...: the doctor, run by the command, ends with this
# status, and prints these lines; patterns are separated by newlines
finds() {
    local status patterns
    mapfile -t patterns <<<"$3"
    timeout 60 "${@:4}" "$info" --doctor >"$out" 2>"$err"
    status=$?
    [ "$status" = "$2" ] && has "${patterns[@]}" &&
        ! grep -qvE '^(ok|warning|error) - [^:]+: ' "$out" &&
        ! grep -E '^warning' "$out" | grep -qv ';' && [ ! -s "$err" ] && [ -z "$(ls -A /dev/shm)" ]
    verdict "doctor: $1" $? "status $status, not $2, or no line '$missing', or stderr, or files in /dev/shm"
}
# Before the first argument: runs it, and then the others in the same mount namespace.
without=(unshare -m sh -c 'eval "$1"; shift; exec "$@"' -)
missing=
[ "$SCRIPT_RUNS" != shared ] || { echo "skip - doctor: no private /dev/shm"; exit $failed; }

finds "this machine" 0 'ok - settings: 0 in
ok - launcher: none
ok - PMIx: .*[0-9]
^ok - memfd:
^ok - /dev/shm: .* free
^ok - shared heap: up to
^ok - two ranks of a node: .* right
^ok - two nodes: .* right, ucx tcp' env
"$info" doctor >"$out" 2>"$err" && has '^ok - two nodes'
verdict "doctor: as a word" $?
finds "few open files" 1 '^warning - open files: the limit is 16, .*; raise it
^ok - two ranks of a node
^error - two nodes: .*; .*ulimit -n' sh -c 'ulimit -n 16; exec "$@"' -
finds "little address space" 1 '^warning - address space: the limit is 97.7 MiB
^error - shared heap: cannot map .*; .*ulimit -v
^warning - two ranks of a node: not tried' sh -c 'ulimit -v 100000; exec "$@"' -
finds "names and values of settings" 1 \
    '^error - settings: CATENA_HEAP_SIZE: expected .*, found "much"; change it
^error - settings: CATENA_TUNING is .nope.; expected
^error - settings: CATENA_BOOT=x; expected
^error - settings: CATENA_BCAST_ALGORITHM is .none.; expected one of auto, .*binomial
^warning - settings: CATENA_WIAT is not a setting.*; the nearest name is CATENA_WAIT
^ok - two nodes' env CATENA_HEAP_SIZE=much CATENA_TUNING=nope CATENA_BOOT=x \
    CATENA_BCAST_ALGORITHM=none CATENA_WIAT=spin
finds "an unknown setting alone is a warning" 0 '^warning - settings: CATENA_WIAT' \
    env CATENA_WIAT=spin
finds "a heap larger than memory" 1 '^error - shared heap: .* requested; change CATENA_HEAP_SIZE' \
    env CATENA_HEAP_SIZE=4000t
finds "a launcher without PMIx" 1 '^error - launcher: .*PMI_SIZE.* without PMIx; .*srun --mpi=pmix' \
    env PMI_RANK=1 PMI_SIZE=4
finds "no PMIx" 1 '^error - launcher: .*CATENA_BOOT=pmix.*; expected' env CATENA_BOOT=pmix
finds "a PMIx server that is gone" 1 '^error - launcher: PMIX_NAMESPACE is set, but .*; start' \
    env PMIX_NAMESPACE=gone PMIX_RANK=0
finds "no transport between nodes" 1 '^ok - two ranks of a node
^error - two nodes: .*UCX_TLS.*; ' env UCX_TLS=self
finds "attach denied by seccomp" 0 '^warning - cross-memory attach: .*seccomp .*; allow
^ok - two ranks of a node' "$deny" process_vm_readv
mkdir -p "$work/kernel/yama" "$work/kernel/random" && echo 2 >"$work/kernel/yama/ptrace_scope"
cat /proc/sys/kernel/random/boot_id >"$work/kernel/random/boot_id" # UCX reads it
finds "attach denied by Yama" 0 \
    '^warning - cross-memory attach: .*kernel.yama.ptrace_scope is 2; set it to 0 or 1' \
    "${without[@]}" "mount --bind '$work/kernel' /proc/sys/kernel" \
    "$deny" process_vm_readv
finds "no memfd_create" 0 '^warning - memfd: memfd_create: .*; 
^ok - two ranks of a node' "$deny" memfd_create
full='mount -t tmpfs -o size=64k none /dev/shm; head -c 1m /dev/zero >/dev/shm/x 2>/dev/null'
finds "a full /dev/shm" 0 '^warning - /dev/shm: .*No space left.* 0 bytes of 64.0 KiB are free, .*; 
^ok - two ranks of a node' "${without[@]}" "$full"
finds "a full /dev/shm that is needed" 1 '^warning - memfd
^error - /dev/shm: .*the shared heap needs it; 
^error - shared heap: .*; ' "${without[@]}" "$full" "$deny" memfd_create
finds "a small /dev/shm" 0 '^warning - /dev/shm: .* of 1.0 MiB are free, .*; .*enlarge it' \
    "${without[@]}" 'mount -t tmpfs -o size=1m none /dev/shm'
finds "no /dev/shm" 0 '^warning - /dev/shm: No such file or directory, .*; mount a tmpfs
^ok - two ranks of a node' "${without[@]}" 'mount -t tmpfs none /dev; mknod -m 666 /dev/null c 1 3'
grep -q . /proc/self/cgroup &&
    finds "little memory" 0 '^warning - memory: the control group allows 95.4 MiB, .*; raise' \
        "${without[@]}" 'mount -t tmpfs none /sys/fs/cgroup
            mkdir /sys/fs/cgroup/memory
            echo 100000000 >/sys/fs/cgroup/memory.max
            echo 100000000 >/sys/fs/cgroup/memory/memory.limit_in_bytes'
finds "an RDMA device and little locked memory" 0 \
    '^warning - locked memory: the limit is 64.0 KiB, RDMA devices .mlx5_0.*; remove the limit' \
    "${without[@]}" "cd '$work'; mkdir -p class/net class/infiniband/mlx5_0
        mount --bind /sys/class/net class/net; mount --rbind class /sys/class; ulimit -l 64"
if [ "$(nproc)" -gt 1 ]; then
    core=$(sed -nE 's/^Cpus_allowed_list:\t([0-9]+).*/\1/p' /proc/self/status)
    finds "an affinity mask" 0 '^warning - cores: this process may use 1 of .*; widen' \
        taskset -c "$core"
fi
"$prun" -n 2 "$info" --doctor >"$out" 2>"$err" && [ "$(grep -c '^ok - launcher: PMIx, rank' "$out")" = 2 ]
verdict "doctor: ranks of prun" $?
for process in $(pgrep -f "^$info"); do
    grep -zsx "INFO_TEST=$$" "/proc/$process/environ"
done >"$out"
[ -z "$(ls -A /dev/shm)" ] && [ ! -s "$out" ]
verdict "doctor: nothing is left behind" $?
exit $((failed > 0))
