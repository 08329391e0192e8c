#!/usr/bin/env bash
# Builds catena for aarch64 with a cross compiler, and runs the unit tests and the
# simulated ones by qemu-user. The libraries for arm64 are downloaded and unpacked;
# nothing is installed.
# usage: tests/checkers/aarch64.sh BUILD_DIR
set -u
# shellcheck source=tests/script.sh
. "$(dirname "$0")/../script.sh"
source=$(realpath "$here/../..")
root=$work/root

# Cases that cannot pass there, and why.
declare -A not_here
for case in sparse_blocks_are_zero sparse_blocks_of_peers_are_zero \
    sparse_exhaustion sparse_addresses_run_out calloc_is_sparse exhaustion \
    memory_is_given_back caches_do_not_keep_memory limit_is_shared; do
    not_here[$case]="qemu-user ignores MADV_REMOVE, so no memory is given back"
done
not_here[many_ranks]="qemu-user keeps a table of all reserved addresses"
not_here[a_reservation_that_fits]="qemu-user ignores RLIMIT_AS"

for program in qemu-aarch64 aarch64-linux-gnu-gcc; do
    command -v "$program" >"$out" || {
        echo "skip - aarch64: there is no $program (tools/dependencies full)"
        exit 0
    }
done

# A package database of its own: empty, for arm64.
sysroot() {
    local apt=(apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures::=arm64
        -o Dir::State="$work/apt" -o Dir::State::status="$work/apt/status"
        -o Dir::Cache="$work/apt" -o APT::Sandbox::User="$(id -un)")
    mkdir -p "$work"/apt/{lists,archives}/partial "$root"
    : >"$work/apt/status"
    "${apt[@]}" update &&
        "${apt[@]}" install -y -d --no-install-recommends libc6-dev libucx-dev \
            libpmix-dev libhwloc-dev libnuma-dev libjansson-dev check || return 1
    local package
    for package in "$work"/apt/archives/*.deb; do
        dpkg -x "$package" "$root" || return 1
    done
}

# The emulator keeps a table of the addresses that a simulator reserves.
make_build() {
    local libraries=$root/usr/lib/aarch64-linux-gnu/pkgconfig
    cat >"$work/cross" <<END
[binaries]
c = 'aarch64-linux-gnu-gcc'
ar = 'aarch64-linux-gnu-ar'
strip = 'aarch64-linux-gnu-strip'
pkgconfig = 'pkg-config'
[built-in options]
c_args = ['--sysroot=$root', '-DCTN_SIM_ARENA_BYTES=(1ull<<28)']
c_link_args = ['--sysroot=$root']
[properties]
sys_root = '$root'
pkg_config_libdir = ['$libraries', '$root/usr/share/pkgconfig']
[host_machine]
system = 'linux'
cpu_family = 'aarch64'
cpu = 'aarch64'
endian = 'little'
END
    meson setup "$work/build" "$source" -Dtests=true --cross-file "$work/cross" \
        -Doptimization=1 && ninja -C "$work/build"
}

# emulated COMMAND...
emulated() {
    CK_TIMEOUT_MULTIPLIER=30 timeout 900 qemu-aarch64 -L "$root" \
        -E LD_LIBRARY_PATH="$work/build/lib" "$@"
}

# unit PROGRAM NAME: a Check suite
unit() {
    local name=$2 line case status=0 known=0
    (
        # many_ranks: the emulator would take all memory for its table
        [ "$name" != heap_segment ] || ulimit -d 4000000
        CK_TAP_LOG_FILE_NAME=$work/tap emulated "$1" "$2" >"$out" 2>"$err"
    ) || status=$?
    grep -c '^ok' "$work/tap" >"$work/passed" 2>>"$err"
    while read -r line; do
        case=${line#not ok * - *:*:}
        case=${case%%:*}
        if [ -n "${not_here[$case]:-}" ]; then
            echo "skip - aarch64 $name: $case (${not_here[$case]})"
            known=1
        else
            verdict "aarch64 $name: $case" 1 "$line"
        fi
    done < <(grep '^not ok' "$work/tap" 2>>"$err")
    [ "$known" -eq 0 ] || [ "$status" -ne 1 ] || status=0
    verdict "aarch64 $name: $(cat "$work/passed") cases" "$status"
    rm -f "$work/tap"
}

try "aarch64: libraries" sysroot
[ $failed -eq 0 ] || exit 1
try "aarch64: build" make_build
[ $failed -eq 0 ] || exit 1
cd "$work/build" || exit 1
for program in tests/unit/unit tests/unit/unit_*; do
    [ -f "$program" ] && [ -x "$program" ] || continue
    names=$(emulated "$program")
    [ -n "$names" ]
    verdict "aarch64: the names of ${program##*/}" $?
    for name in $names; do
        unit "$program" "$name"
    done
done
for input in machine tuning graph levels messages; do
    try "aarch64 fuzz: $input" emulated "tests/fuzz/fuzz_$input" "$input" \
        "$source/tests/fuzz/corpus/$input"
done
try "aarch64 sim: seeds 1 to 20" emulated tests/sim/sim_random 1 20
try "aarch64 ranks: sim1" emulated tests/ranks/ranks --layout sim1
for suite in alltoall split neighbor; do
    try "aarch64 ranks: sim 3+1+5, $suite" emulated tests/ranks/ranks \
        --sim 3+1+5 --suite "$suite"
done
exit $((failed > 0))
