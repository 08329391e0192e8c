#!/usr/bin/env bash
# Make the Debian packages of the last commit, install them in a fresh Debian, and
# build and run a first program there.
# usage: tests/package/deb.sh BUILD_DIR
set -u
# shellcheck source=tests/script.sh
. "$(dirname "$0")/../script.sh"
source=$(realpath "$here/../..")
root=$work/root

skip() {
    echo "skip - packages: $*"
    exit 0
}
. /etc/os-release
[ "$ID $VERSION_CODENAME" = "debian bookworm" ] || skip "this is not Debian 12"
for program in debootstrap dpkg-buildpackage lintian; do
    command -v "$program" >/dev/null || skip "there is no $program"
done
unshare -m -p -f true 2>"$err" || skip "no namespaces are permitted"
git -C "$source" rev-parse -q --verify HEAD >"$out" || skip "this tree has no git"
mirror=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE)' \
    "Created-By: Packages" | sed -n "s/ $VERSION_CODENAME$//p" | head -n 1)
[ -n "$mirror" ] || skip "apt has no mirror of $VERSION_CODENAME"

# Thousands of small files: in memory where permitted. It ends with the mount.
mkdir "$root"
if [ "$SCRIPT_RUNS" != shared ] && mount -t tmpfs -o size=4g none "$root" 2>"$err"; then
    trap 'umount "$root"; rm -rf "$work"' EXIT
fi

# in_root COMMAND...: run it in the root, with processes and mounts of its own
in_root() {
    unshare -m -p -f sh -c 'mount -t proc none "$0/proc" &&
        mount -t sysfs none "$0/sys" && mount -t tmpfs none "$0/dev/shm" && exec chroot "$0" "$@"' "$root" \
        env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 \
        DEBIAN_FRONTEND=noninteractive ${http_proxy:+"http_proxy=$http_proxy"} "$@"
}

bootstrap() {
    debootstrap --variant=minbase "$VERSION_CODENAME" "$root" "$mirror" &&
        cp /etc/resolv.conf "$root/etc" && in_root true
}

# The packages bring what they need; the test, a compiler and CMake.
install() {
    mkdir "$root/debs" && cp "$work"/debs/*.deb "$root/debs" &&
        in_root sh -c 'rm -f /debs/*-dbgsym_*; apt-get install -y -qq \
            --no-install-recommends /debs/*.deb gcc libc6-dev make pkg-config cmake'
}

write_programs() {
    mkdir "$root/first" && cp "$source/docs/examples/first.c" "$root/first" &&
        cat >"$root/first/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.16)
project(first C)
find_package(catena 1.0 REQUIRED)
add_executable(first first.c)
target_link_libraries(first catena::catena)
END
}

# two_ranks COMMAND: make first, and run it
two_ranks() {
    in_root sh -c "cd /first && $1" &&
        in_root sh -c "cd /first && catena-prun -n 2 $2" | sort >"$work/ranks" &&
        diff "$work/ranks" - <<'END'
rank 0 of 2 received 0 from rank 0 and 100 from rank 1
rank 1 of 2 received 1 from rank 0 and 101 from rank 1
END
}

# Each library is found; no file is in the way of PRRTE's prun.
complete() {
    in_root sh -c 'for file in /usr/bin/catena-* /usr/lib/*/libcatena*.so.* \
        /usr/lib/*/catena/*.so; do ldd $file; done' >"$work/ldd" &&
        grep -q libcatena.so.1 "$work/ldd" && ! grep 'not found' "$work/ldd" &&
        [ ! -e "$root/usr/bin/prun" ]
}

purged() {
    in_root sh -c 'apt-get purge -y -qq "?name(catena)"' &&
        ! find "$root/usr" "$root/etc" "$root/var/lib/dpkg/info" -name '*catena*' |
            grep .
}

try "packages: tools/package/deb" nice "$source/tools/package/deb" "$work/debs"
[ "$failed" -eq 0 ] || exit 1
if ! bootstrap >"$out" 2>"$err"; then
    tail -n 3 "$out" | sed 's/^/# /'
    skip "debootstrap failed with the mirror $mirror"
fi
try "packages: installed" install
[ "$failed" -eq 0 ] || exit 1
try "packages: complete" complete
write_programs
flags='$(pkg-config --cflags --libs catena)'
try "packages: first.c by pkg-config" two_ranks "cc first.c -o first $flags" ./first
static='$(pkg-config --static --cflags --libs catena | sed s/-lcatena/-l:libcatena.a/)'
try "packages: first.c with libcatena.a" \
    two_ranks "cc first.c -o static $static && ! ldd static | grep libcatena" ./static
try "packages: first.c by CMake" \
    two_ranks "cmake -B build && cmake --build build" build/first
try "packages: catena-bench" in_root catena-prun -n 2 catena-bench allreduce -c -i 5 -m 8:64
try "packages: catena-info" in_root catena-info -v
try "packages: purged" purged
exit $((failed > 0))
