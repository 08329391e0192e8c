#!/usr/bin/env bash
# The commands of README, docs and the manual pages run: those in blocks, and the
# complete ones in running text, once each. catena-bench makes one call of each size, and
# jobs have 8 ranks at most, except with "long", which also runs what takes minutes. docs/results/papers.md is complete.
# usage: tests/docs/run.sh BUILD_DIR [long]
set -u
# shellcheck source=tests/script.sh
. "$(dirname "$0")/../script.sh"
source=$(realpath "$here/../..")
long=${2:-}

# why COMMAND: why it is not run; empty: it is
why() {
    case "$1" in
    cc*libpng*) pkg-config --exists libpng || echo "there is no libpng" ;;
    *./halo*) [ -x halo ] || echo "there is no libpng" ;;
    cc*fftw3*) pkg-config --exists fftw3 || echo "there is no fftw3" ;;
    *./fft*) [ -x fft ] || echo "there is no fftw3" ;;
    tools/quickstart* | tests/run* | tests/full* | *tests/mutants*)
        echo "it installs, builds and tests everything" ;;
    "meson setup"* | "ninja -C build-release install"* | "meson test"*)
        echo "the test 'install' does it" ;;
    tools/dependencies*) echo "it installs packages" ;;
    catena-info\ --job\ *) echo "the test 'hangs' does it" ;;
    export\ *) echo "this installation is elsewhere" ;;
    tests/peers/compare*HEAD*) echo "it builds another revision" ;;
    tests/peers/compare*)
        [ -n "$long" ] && command -v mpicc.openmpi mpicc.mpich >"$out" ||
            echo "it takes minutes, and needs Open MPI and MPICH" ;;
    "docs/results/reproduce --check"*) echo "the test 'figures' does it" ;;
    docs/results/reproduce* | tests/bench/figures*) echo "it takes hours" ;;
    mpirun*) command -v mpirun >"$out" || echo "it is not installed" ;;
    srun*) echo "the test 'launchers' does it, with a Slurm of its own" ;;
    *"-n 16 "* | *--tune* | *--calibrate* | *--nodes\ [0-9][0-9][0-9]* | *tests/ranks/ranks*)
        [ -n "$long" ] || echo "it takes long" ;;
    esac
}

# shorten COMMAND: fewer ranks, unless a grid has them all, smaller problems, and one call of
# each size; of a comparison one short turn
shorten() {
    local command=$1
    if [ -z "$long" ]; then
        [[ $1 = *4x4* ]] || command=${command/-n 16 /-n 8 }
        command=${command/cc -O2 /cc }
        command=${command/-n 8 --ppn 4 /-n 4 --ppn 2 }
        command=${command/-n 8 catena-bench/-n 4 catena-bench}
        command=${command/1000x1000/100x100}
        command=${command/spmv -n 300/spmv -n 60}
        command=${command/fft 64/fft 16}
        command=${command/--nodes 50 /--nodes 5 }
    fi
    case "$long:$1" in
    :*catena-bench*) echo "${command%%[|]*} -i 1 -x 0 -M 256k" ;;
    *:tests/peers/compare*) echo "$1 --turns 1 --ms 2 --max 64" ;;
    *) echo "$command" ;;
    esac
}

# Each line: FILE:LINE COMMAND. In running text, commands with a placeholder or
# without arguments that make them complete are parts of sentences.
commands() {
    python3 - "$source" <<'END'
import pathlib, re, sys

source = pathlib.Path(sys.argv[1])
program = (r"(?:[A-Z_]+=\S+ )*(?:prun|catena-\w+|mpirun|srun|meson|ninja|cc|export"
           r"|(?:build|docs/results|tests|tools)/[\w/-]+)\b")
complete = (r"(?:prun -n|srun|mpirun -n) .*(?:\./|catena-bench \w)"
            r"|catena-bench --sim |catena-(?:info -\w|bench --(?:help|machines))$")
block = re.compile(r"^```\w*\n(.*?)^```", re.S | re.M)
for path in [source / "README.md", *sorted(source.glob("docs/*.md")),
             *sorted(source.glob("docs/*/*.md")),
             *sorted(source.glob("docs/man/*.scd"))]:
    text = path.read_text()
    where = path.relative_to(source)
    found = []
    for part in block.finditer(text):
        line = text.count("\n", 0, part.start()) + 2
        lines = re.sub(r"\\{1,2}\n\s*", lambda m: " " * 0, part[1])
        for command in lines.splitlines():
            command = re.sub(r"^\$ ", "", command)
            command = re.sub(r"\s+#.*", "", command)
            if re.match(program, command) and "(" not in command.split()[0]:
                found.append((line, command))
    plain = block.sub(lambda m: "\n" * m[0].count("\n"), text)
    spans = r"\*([^*]+)\*" if path.suffix == ".scd" else r"`([^`]+)`"
    for span in re.finditer(spans, plain):
        command = " ".join(span[1].split())
        if re.match(program, command) and re.match(complete, command) and not (
                re.search(r"\b[A-Z]{3,}\b(?!=)", command)):
            found.append((plain.count("\n", 0, span.start()) + 1, command))
    for line, command in found:
        print(f"{where}:{line} {command}")
END
}

mkdir "$work/at"
cd "$work/at" || exit 1
ln -s "$build" build
ln -s "$source/tests" "$source/docs" "$source/tools" .
ln -s "$source"/docs/examples/*.[ch] .
meson install -C "$build" --no-rebuild --destdir "$work/root" >"$out" 2>"$err"
verdict "docs: installed" $?
config=$(find "$work/root" -name catena.pc -printf '%h')
export PKG_CONFIG_PATH=$config PKG_CONFIG_SYSROOT_DIR=$work/root
export LD_LIBRARY_PATH=${config%/pkgconfig}
PATH=$(find "$work/root" -path '*/bin/catena-bench' -printf '%h'):$PATH
# mpirun as root, with more ranks than cores
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1

# papers SED: what is wrong with docs/results/papers.md after this change
papers() {
    sed -E "$1" "$source/docs/results/papers.md" >"$work/papers.md"
    "$source/tests/docs/papers.py" "$source" "$work/papers.md" 2>&1
}

papers "" >"$out"
[ ! -s "$out" ]
verdict "docs: papers.md has a row for everything, and names what exists" $?
papers '/^\| Figure 9 /d
    s/^\| Hash64 .*/&\n&/
    s/check gather\b/check gathering/
    s|lib/group/scan.c|lib/group/scans.c|
    s/\(trace.svg/(tracing.svg/
    s/SPL-8/SPL-9/
    s/first_members_lead/first_lead/' >"$out"
missing=
while read -r fact; do
    grep -qF -- "$fact" "$out" || missing+=" '$fact'"
done <<'END'
[Peng] Figure 9: 0 rows
[Moody] Hash64: 2 rows
no figure 'gathering'
there is no lib/group/scans.c
there is no tracing.svg
docs/algorithms.md has no SPL-9
has no case first_lead
END
[ -z "$missing" ]
verdict "docs: what papers.md lacks is found" $? "not found:$missing"

commands >"$work/commands"
declare -A ran
while read -r place command; do
    [ -z "${ran[$command]:-}" ] || continue
    ran[$command]=1
    reason=$(why "$command")
    if [ -n "$reason" ]; then
        echo "skip - docs: $command ($reason)"
        continue
    fi
    timeout 900 bash -c "set -o pipefail; $(shorten "$command")" \
        </dev/null >"$out" 2>"$err"
    verdict "docs: $command" $? "$place"
done <"$work/commands"
[ "$(wc -l <"$work/commands")" -ge 40 ]
verdict "docs: the commands were found" $?
exit $((failed > 0))
