# Sourced by test scripts, whose first argument is the build directory. Sets
# build, prun and bench; work, a directory that is removed at the end; TMPDIR in
# it; out and err for the output of commands. Signals have their default actions,
# even below nohup. /dev/shm is private to the test where permitted, so that
# files of other jobs are invisible.
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
mkfifo "$work/pause"
failed=0

# verdict NAME STATUS [WHY]: print the result of a case
verdict() {
    if [ "$2" -eq 0 ]; then
        echo "ok - $1"
        return
    fi
    echo "not ok - $1"
    { [ -z "${3:-}" ] || echo "$3"; tail -n 5 "$err" "$out"; } | sed 's/^/# /; $a\'
    failed=$((failed + 1))
}

# try NAME COMMAND...: run a case and keep its output
try() {
    "${@:2}" >"$out" 2>"$err"
    verdict "$1" $?
}

# pause SECONDS: sleep without a process
pause() { read -rt "$1" <>"$work/pause" || true; }

# poll SECONDS COMMAND...: repeat the command until it succeeds
poll() {
    local end=$((SECONDS + $1))
    until "${@:2}"; do
        [ "$SECONDS" -lt "$end" ] || return 1
        pause 0.02
    done
}
