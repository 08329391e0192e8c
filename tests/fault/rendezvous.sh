#!/usr/bin/env bash
# The rendezvous of CATENA_BOOT=tcp beside connections that are not of the job, and with a rank
# that sends nonsense.
# usage: tests/fault/rendezvous.sh BUILD_DIR
set -u
# shellcheck source=tests/script.sh
. "$(dirname "$0")/../script.sh"
if ! command -v python3 >/dev/null; then
    echo "skip - rendezvous: needs python3"
    exit 0
fi
python=$(python3 -c 'import sys; print(sys.executable)') # without a wrapper, which is slow
# The programs of another user, who may not look into $work.
theirs=$(mktemp -d /tmp/rendezvous.XXXXXX)
silent=
ranks=()
trap 'kill "${ranks[@]}" $silent 2>/dev/null; wait; rm -rf "$work" "$theirs"' EXIT
chmod 755 "$theirs"
cp "$here/guest.py" "$theirs"
# No other test that runs now has this address, which is of the loopback.
address=127.$((1 + $$ / 65536 % 250)).$(($$ / 256 % 256)).$(($$ % 256))
port=20000
export CATENA_BOOT_TIMEOUT=40 UCX_NET_DEVICES=lo

# job SIZE: begin a job
job() {
    port=$((port + 1))
    export CATENA_BOOT=tcp://$address:$port CATENA_BOOT_SIZE=$1
    rm -f "$out".[0-9] "$err".[0-9]
}
# rank NUMBER: start a rank, which checks data once. SECRET: of the job; FILES: how many the
# rank may open
rank() {
    (
        [ -z "${FILES:-}" ] || ulimit -n "$FILES"
        CATENA_BOOT_RANK=$1 CATENA_BOOT_SECRET=${SECRET:-} exec "$build/tests/fault/turns" \
            "$build" >"$out.$1" 2>"$err.$1"
    ) &
    ranks[$1]=$!
}
# first: start rank 0, and wait until it listens
first() {
    rank 0
    poll 30 listens || verdict "rendezvous: rank 0 listens" 1
}
listens() { (: <>"/dev/tcp/$address/$port") 2>/dev/null; }
# finish NUMBER...: wait for ranks; sets status to their exit codes
finish() {
    local number
    status=
    for number; do
        poll 50 ended "${ranks[number]}" || kill "${ranks[number]}"
        wait "${ranks[number]}" 2>/dev/null
        status+=" $?"
        unset "ranks[number]"
    done
    cat "$out".[0-9] >"$out"
    cat "$err".[0-9] >"$err"
}
ended() { ! kill -0 "$1" 2>/dev/null; }
# works NAME: the other ranks start; all end well
works() {
    local number all=0 expected=" 0"
    for ((number = 1; number < CATENA_BOOT_SIZE; number++)); do
        rank $number
        all+=" $number"
        expected+=" 0"
    done
    # shellcheck disable=SC2086
    finish $all
    [ "$status" = "$expected" ] && grep -q running "$out"
    verdict "rendezvous: $1" $? "exit codes$status"
}
# hold COUNT: open connections to rank 0 that say nothing
hold() {
    rm -f "$work/silent"
    "$python" "$here/junk.py" --silent 100 "$1" "$address:$port" >"$work/silent" 2>"$err" &
    silent=$!
    poll 30 grep -qs . "$work/silent"
    [ "$(cat "$work/silent")" = "$1" ]
    verdict "rendezvous: $1 connections that send nothing are open" $? "$(cat "$work/silent")"
}
release() {
    kill "$silent"
    wait "$silent" 2>/dev/null
    silent=
}
# guest WHAT PYTHON...: sets said to what becomes of tests/fault/guest.py
guest() {
    said=$(timeout 50 "${@:2}" "$theirs/guest.py" "$address:$port" "$CATENA_BOOT_SIZE" \
        "$1" 2>&1)
}

# other_is_closed WHERE: a process of another user that says it is rank 1
other_user=() # its python3, the first one that it may run
for candidate in $(type -aP python3); do
    as_other=(setpriv --reuid=65534 --regid=65534 --clear-groups "$candidate")
    if [ "$(id -u)" = 0 ] && "${as_other[@]}" -c '' 2>"$err"; then
        other_user=("${as_other[@]}")
        break
    fi
done
other_is_closed() {
    if [ ${#other_user[@]} = 0 ]; then
        echo "skip - rendezvous: another user${1:-}: needs root, setpriv, and python3 for all"
        return
    fi
    guest join "${other_user[@]}"
    [ "$said" = closed ]
    verdict "rendezvous: a process of another user is left without an answer${1:-}" $? "$said"
}

# ---- connections that say nothing ----

job 3
first
hold 300
works "a job starts beside more of them than rank 0 keeps"
release
job 3
FILES=64 first
hold 100
other_is_closed " beside more connections than rank 0 may have descriptors"
works "a job starts beside more of them than rank 0 may have descriptors"
release

# ---- others ----

job 3
SECRET=right first
refused=0
for number in 1 2; do
    SECRET=wrong rank $number
    finish $number
    [ "$status" = " 1" ] && grep -q 'refuses: CATENA_BOOT_SECRET differs' "$err" &&
        refused=$((refused + 1))
done
[ "$refused" = 2 ]
verdict "rendezvous: processes with another secret are refused, and say so" $? "$refused of 2"
SECRET=right works "the job starts without them"
[ "$(grep -c 'WARN .*another CATENA_BOOT_SECRET' "$err.0")" = 1 ] && [ "$(wc -l <"$err.0")" = 1 ]
verdict "rendezvous: rank 0 warns of them once" $?

job 4 # rank 2 connects to rank 1
first
other_is_closed
works "the job starts without that"

if [ ${#other_user[@]} -gt 0 ]; then
    job 3
    first
    kill -STOP "${ranks[0]}"
    guest gone "${other_user[@]}"
    kill -CONT "${ranks[0]}"
    [ "$said" = sent ] || verdict "rendezvous: another user connects" 1 "$said"
    works "what another user has sent is not read if its sockets are closed before they are accepted"
fi

# ---- a rank that sends nonsense ----

# nonsense WHAT MESSAGE: rank 1 sends it; rank 0 ends with the message
nonsense() {
    job 2
    rank 0
    guest "$1" "$python"
    finish 0
    [ "$said" = sent ] && [ "$status" = " 1" ] && grep -q "ERROR .*$2" "$err"
    verdict "rendezvous: a rank with an impossible length of its $1 ends the job" $? \
        "$said, exit code$status"
}
nonsense records "no memory for this process"
nonsense value "rank 1 has published no catena.ep_address"
exit "$((failed > 0))"
