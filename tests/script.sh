# Sourced by the tests that are scripts, whose first argument is the build
# directory. Sets build, prun and bench; work, a directory that goes at the end;
# TMPDIR in it; out and err for what commands print. Signals have their default
# actions, also below nohup, and /dev/shm is the test's own where that is
# allowed: what other jobs leave is not seen.
if [ -z "${SCRIPT_RUNS:-}" ]; then
    export SCRIPT_RUNS=1
    run=(env --default-signal bash "$0" "$@")
    if unshare -m mount -t tmpfs none /dev/shm 2>/dev/null; then
        exec unshare -m sh -c 'mount -t tmpfs none /dev/shm; exec "$@"' - \
            "${run[@]}" </dev/null
    fi
    SCRIPT_RUNS=shared exec "${run[@]}" </dev/null
fi
here=$(realpath "$(dirname "$0")")
build=$(realpath "$1")
prun=$build/tools/prun
bench=$build/tools/catena-bench
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/tmp"
export TMPDIR=$work/tmp
out=$work/out
err=$work/err
: >"$out"
: >"$err"
failed=0

# verdict NAME STATUS [WHY]: of a case
verdict() {
    if [ "$2" -eq 0 ]; then
        echo "ok - $1"
        return
    fi
    echo "not ok - $1"
    { [ -z "${3:-}" ] || echo "$3"; tail -n 5 "$err" "$out"; } | sed 's/^/# /; $a\'
    failed=$((failed + 1))
}

# try NAME COMMAND...: a case; what it prints is kept
try() {
    "${@:2}" >"$out" 2>"$err"
    verdict "$1" $?
}

# poll SECONDS COMMAND...: until it holds
poll() {
    local end=$((SECONDS + $1))
    until "${@:2}"; do
        [ "$SECONDS" -lt "$end" ] || return 1
        sleep 0.02
    done
}
