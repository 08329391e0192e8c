#!/usr/bin/env bash
# What another user of the host, and a process that reaches a port but does not speak UCX's
# protocol, cannot disturb in a job.
# Needs root, to become another user.
# usage: tests/fault/strangers.sh BUILD_DIR
set -u
# shellcheck source=tests/script.sh
. "$(dirname "$0")/../script.sh"
for tool in setpriv ss pgrep python3; do
    command -v $tool >/dev/null || missing=$tool
done
if [ "$(id -u)" != 0 ] || [ -n "${missing:-}" ]; then
    echo "skip - strangers: needs root, and ${missing:-all tools}"
    exit 0
fi
# The programs of the other user, who may not look into $work.
theirs=$(mktemp -d /tmp/strangers.XXXXXX)
job=
silent=
trap 'kill $job $silent 2>/dev/null; wait; rm -rf "$work" "$theirs"' EXIT
chmod 755 "$theirs"
cp "$build/tests/fault/client" "$build/tests/fault/as_root.so" "$theirs"

# start OPTIONS...: start a job of 4 ranks, which checks its data until it is ended
start() {
    rm -f "$work/over" "$work/job.out"
    "$prun" --timeout 150 -n 4 "$@" "$build/tests/fault/turns" "$work/over" >"$work/job.out" \
        2>"$work/job.err" &
    job=$!
    poll 20 grep -qs running "$work/job.out"
    mapfile -t processes < <(pgrep -P "$job" turns)
    [ "${#processes[@]}" = 4 ]
    verdict "strangers: a job of 4 ranks: ${*:-one node}" $?
}
# ends WHAT: the job ends well
ends() {
    kill -0 "$job" && touch "$work/over" && wait "$job"
    local status=$?
    cat "$work/job.out" "$work/job.err" >"$out"
    verdict "strangers: $1" "$status"
}
# ports PATTERN PROCESS...: where processes listen, except at addresses that match PATTERN
ports() {
    local process
    for process in "${@:2}"; do
        ss -Hltunp | grep "pid=$process," | awk '{print $5}' | grep -vE "$1"
    done
}
# port PROCESS: where it listens on loopback
port() { ports none "$1" | grep '^127.0.0.1:' | head -1; }
other_user() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }

# ---- a job on one node ----

start
ports none "${processes[@]}" >"$out"
[ ! -s "$out" ]
verdict "strangers: ranks of one node listen at no port" $?
ports '^127.0.0.1:' "$job" >"$out"
[ ! -s "$out" ]
verdict "strangers: prun listens on loopback only" $?

secret=$(tr '\0' '\n' <"/proc/${processes[0]}/environ" | sed -n 's/^PMIX_NAMESPACE=//p')
grep -qE '^prun-[0-9]+-[0-9a-f]{32}$' <<<"$secret"
verdict "strangers: the namespace of the job has 128 random bits" $?
other_user sh -c 'cat /proc/[0-9]*/cmdline /proc/[0-9]*/comm /proc/[0-9]*/environ \
    /proc/[0-9]*/maps /proc/net/unix; find "$@"' - "$TMPDIR" /tmp /run /dev/shm \
    2>/dev/null | tr '\0' '\n' >"$out"
[ -s "$out" ] && ! grep -qF "$secret" "$out"
verdict "strangers: no other user can read it" $?

# The names that others see, and one that is nearly right; with the address of
# PMIx's server, which anybody can find.
address=$(port "$job")
mapfile -t guesses < <(ls "$TMPDIR"; echo "${secret%?}"; echo "prun-$job-0")
# attack USER NAMESPACE [LIBRARY]: claim to be rank 0, and end the job. USER: a command
# that starts others as that user
attack() {
    "$1" env -i PATH="$PATH" PMIX_NAMESPACE="$2" PMIX_RANK=0 PMIX_MCA_gds=hash \
        PMIX_SERVER_URI41="pmix-server.$job;tcp4://$address" \
        PMIX_SECURITY_MODE=native PMIX_GDS_MODULE=hash \
        PMIX_BFROP_BUFFER_TYPE=PMIX_BFROP_BUFFER_NON_DESC LD_PRELOAD="${3:-}" \
        timeout 5 "$theirs/client" intrude 3 >>"$err" 2>&1
}
# PMIx_Init fails with 99; the control case below shows that the namespace is the reason.
refused=0
for guess in "${guesses[@]}"; do
    attack command "$guess"
    [ $? = 99 ] && refused=$((refused + 1))
done
[ "$refused" -ge 3 ] && [ "$refused" = ${#guesses[@]} ]
verdict "strangers: PMIx refuses whoever does not know the namespace" $? \
    "$refused of ${#guesses[@]}"
refused=0
for library in "" "$theirs/as_root.so"; do
    attack other_user "$secret" "$library"
    [ $? = 99 ] && refused=$((refused + 1))
done
[ "$refused" = 2 ]
verdict "strangers: another user is refused, whatever it knows and says it is" $?
ends "the job goes on"

# Whoever is the user and knows the namespace is believed.
start
address=$(port "$job")
attack command "$(tr '\0' '\n' <"/proc/${processes[0]}/environ" | sed -n 's/^PMIX_NAMESPACE=//p')"
touch "$work/over"
wait "$job"
[ $? = 3 ]
verdict "strangers: a client of the user that knows the namespace ends the job (control case)" $?

# Junk for PMIx's server, and connections that send nothing.
start
address=$(port "$job")
accepted=$(python3 "$here/junk.py" 200 "$address" 2>"$err")
[ "$accepted" = 200 ]
verdict "strangers: 200 connections with random bytes to prun" $? "$accepted accepted"
ends "prun goes on"

# Connections that send nothing, or one byte only, from before the ranks connect, and that stay
# open.
# start_after OPTIONS...: start a job whose ranks wait for $work/silent
start_after() {
    rm -f "$work/over" "$work/job.out" "$work/silent"
    "$prun" "$@" sh -c 'until [ -s "$0" ]; do sleep 0.1; done; exec "$@"' "$work/silent" \
        "$build/tests/fault/turns" "$work/over" >"$work/job.out" 2>"$work/job.err" &
    job=$!
    poll 10 listens
    address=$(port "$job")
}
listens() { [ -n "$(port "$job")" ]; }
start_after --timeout 60 -n 4
python3 "$here/junk.py" --silent 60 200 "$address" >"$work/silent" 2>"$err" &
silent=$!
poll 20 grep -qs running "$work/job.out"
verdict "strangers: a job starts beside connections that send nothing" $?
[ "$(cat "$work/silent")" = 200 ]
verdict "strangers: 200 of them are open" $? "$(cat "$work/silent")"
ends "it ends beside them"
kill "$silent"
# More connections of another user than prun may have descriptors, each with one byte.
limit=$(ulimit -Sn)
ulimit -Sn 100
start_after --timeout 60 -n 2
ulimit -Sn "$limit"
# shellcheck disable=SC2016
other_user bash -c 'for ((i = 0; i < 200; i++)); do
        exec {fd}<>"/dev/tcp/$0" && printf x >&"$fd"
    done; echo "$i"; exec sleep 60' "${address/://}" >"$work/held" 2>"$err" &
silent=$!
poll 20 grep -q 200 "$work/held"
echo 1 >"$work/silent"
poll 20 grep -qs running "$work/job.out"
verdict "strangers: a job starts beside 200 connections of another user" $?
ends "it ends beside those"
kill "$silent"
# Later versions of PMIx wait for the rest of a message without a timeout.
if "$build/tools/catena-info" --libraries | grep -qE 'PMIx.* 4\.([01]\.|2\.[0-2]([^0-9]|$))'; then
    start_after --timeout 60 -n 2
    exec 8<>"/dev/tcp/${address/://}"
    printf x >&8
    echo 1 >"$work/silent"
    poll 20 grep -qs running "$work/job.out"
    verdict "strangers: a job starts beside a connection that sends one byte" $?
    ends "it ends beside it"
    exec 8>&-
else
    echo "skip - strangers: a connection that sends one byte: PMIx after 4.2.2"
fi

# Rings at doorbells, which have no permissions.
export CATENA_WAIT=sleep
start
unset CATENA_WAIT
mapfile -t targets < <(for process in "${processes[@]}"; do
    ss -Hxap | grep "pid=$process," | grep -oE '@catena-[0-9a-f]+-[0-9]+'
done)
[ "${#targets[@]}" = 4 ]
verdict "strangers: each rank has a doorbell" $? "${targets[*]}"
accepted=$(python3 "$here/junk.py" 120 "${targets[@]}" 2>"$err")
[ "${accepted:-0}" -ge 100 ]
verdict "strangers: 100 rings and more are delivered" $? "$accepted accepted"
ends "they change nothing"

# ---- nodes that talk over TCP ----

start --ppn 2
ports '^127.0.0.1:' "$job" "${processes[@]}" >"$out"
[ ! -s "$out" ]
verdict "strangers: nodes of one host listen on loopback only" $?
mapfile -t targets < <(ports none "${processes[@]}")
[ "${#targets[@]}" = 4 ]
verdict "strangers: each rank has a port" $? "${targets[*]}"
accepted=$(python3 "$here/junk.py" 1000 "${targets[@]}" 2>"$err")
[ "$accepted" = 1000 ]
verdict "strangers: 1,000 connections with random bytes" $? "$accepted accepted"
ends "none of them changes anything"
exit "$((failed > 0))"
