#!/usr/bin/env bash
# Lines and branches that the tests of tests/run execute, in a build for that; of
# each folder, and what of the library is not covered. Fails below the least
# shares of lines.
# usage: tests/checkers/coverage.sh BUILD_DIR
set -u
# shellcheck source=tests/script.sh
. "$(dirname "$0")/../script.sh"
made=$build/coverage
list=$build/coverage.txt

command -v gcovr >/dev/null || {
    echo "skip - coverage: gcovr is not installed"
    exit 0
}
[ -f "$made/build.ninja" ] ||
    meson setup "$made" "$here/../.." -Dtests=true -Db_coverage=true -Doptimization=0 \
        -Dwerror=false >"$out" 2>&1
ninja -C "$made" >"$out" 2>&1
verdict "coverage: the build" $?
find "$made" -name '*.gcda' -delete
# A test that fails is a matter of the other builds; ranks that are killed write
# nothing.
meson test -C "$made" --suite run --no-rebuild -t 4 >"$out" 2>&1
tail -n 12 "$out" | sed 's/^/# /'
(cd "$here/../.." && gcovr --root . --filter lib/ --filter transports/ \
    --gcov-ignore-parse-errors --exclude-unreachable-branches \
    --json-summary "$made/summary.json" --txt "$list" "$made") >"$out" 2>"$err"
verdict "coverage: the report" $?

python3 - "$made/summary.json" <<'END'
import collections, json, sys

files = json.load(open(sys.argv[1]))["files"]
sums = collections.defaultdict(lambda: [0] * 4)
for file in files:
    parts = file["filename"].split("/")
    for folder in {"/".join(parts[:2]), parts[0]}:
        for i, key in enumerate(("line_covered", "line_total",
                                 "branch_covered", "branch_total")):
            sums[folder][i] += file[key]
print("# folder                 lines  branches")
for folder, (lines, all_lines, branches, all_branches) in sorted(sums.items()):
    print(f"# {folder:20} {lines / max(all_lines, 1):7.1%} "
          f"{branches / max(all_branches, 1):9.1%}")
for folder, least in (("lib", 0.92), ("transports/ucx", 0.85)):
    lines, all_lines = sums[folder][:2]
    share = lines / max(all_lines, 1)
    good = share >= least
    print(f"{'ok' if good else 'not ok'} - coverage: lines of {folder}")
    if not good:
        print(f"# expected {least:.0%}, found {share:.1%}")
END
echo "# what is not covered: $list"
