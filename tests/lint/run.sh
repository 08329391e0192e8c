#!/usr/bin/env bash
# Rules for the whole tree.
# usage: tests/lint/run.sh BUILD_DIR
set -u
# shellcheck source=tests/script.sh
. "$(dirname "$0")/../script.sh"
cd "$here/../.." || exit 1

# report NAME VIOLATIONS: passes without violations
report() {
    printf '%s\n' "$2" >"$out"
    verdict "$1" "${#2}"
}

# The folders of the library.
folders="core|model|map|transports|heap|exec|group|split|topo|type|coll|neighbor|boot"

# only_in PATTERN ALLOWED: files that include it outside ALLOWED
only_in() {
    grep -rlE "^ *#include <$1" lib transports tools tests docs \
        --include='*.[ch]' | grep -vE "^($2)"
}

# Each header is a unit of its own: in gcc; clang has its own warnings, and reads all of
# them in one.
public_headers() {
    local standard standards compiler language files
    printf '#include "%s"\n' "$PWD"/include/catena/*.h >"$work/all.h"
    for compiler in gcc clang g++ clang++; do
        command -v "$compiler" >/dev/null || continue
        case $compiler in
        *++) language=c++ standards="c++11 c++20" ;;
        *) language=c standards="c99 c2x" ;;
        esac
        files=(include/catena/*.h)
        [[ $compiler != clang* ]] || files=("$work/all.h")
        for standard in $standards; do
            "$compiler" -std="$standard" -pedantic -Wall -Wextra -Wundef \
                -Werror -Iinclude -fsyntax-only -x $language "${files[@]}" 2>&1
        done
    done
}

# A deprecated function is a warning in all languages, and nothing else.
deprecation() {
    local compiler said
    for compiler in gcc "gcc -std=c2x" g++ "g++ -std=c++11" clang clang++; do
        command -v "${compiler%% *}" >/dev/null || continue
        said=$(printf '%s\n' '#include <catena/status.h>' \
            'CATENA_API CATENA_DEPRECATED("use g") int f(void);' \
            'int g(void); int g(void) { return f(); }' |
            $compiler -Wall -Wextra -pedantic -Iinclude -fsyntax-only \
                -x "$([[ $compiler == *++* ]] && echo c++ || echo c)" - 2>&1)
        [ "$(grep -c 'warning: .*use g' <<<"$said")" -eq 1 ] ||
            echo "$compiler: $said"
    done
}

# Mutable data belongs to a context, never to the library; only the existence of a
# context belongs to the process, and the text of catena_last_error, and that it
# simulates, to a thread. With assertions, also the memory of handles that were freed.
mutable_globals() {
    {
        nm -o "$build"/lib/libcatena_{core,both,objects,sim_objects}.a.p/*.o |
            awk '$2 ~ /^[bBcC]$/ { sub(/:.*/, "", $1); print $1 ": " $3 }'
        # Tables of pointers are relocated once and read-only afterwards.
        objdump -t "$build"/lib/libcatena_{core,both,objects,sim_objects}.a.p/*.o |
            awk '/file format/ { o = $1; sub(/:$/, "", o) }
                $4 ~ /^\.(data|bss)$/ && $NF !~ /^\./ { print o ": " $NF }'
    } | sed 's|.*/||' | grep -vxE 'boot_boot.c.o: (process|simulates)|core_log.c.o: last_error(_elsewhere|_returned)?|core_handle.c.o: kept|core_entry.c.o: (ctn_entry_shared|lock|threads|waiting)'
}

# Public functions that do not hold the lock which keeps a progress thread out,
# although they are not known to read or allocate only.
unlocked() {
    find lib -name '*.c' -exec awk '
        /^[a-z].*catena_[a-z0-9_]*\(/ {
            name = $0; sub(/\(.*/, "", name); sub(/.*[ *]/, "", name) }
        /^\{/ { open = name; held = 0; name = "" }
        /CTN_ENTRY/ { held = 1 }
        /^\}/ { if (open ~ /^catena_/ && !held) print FILENAME ": " open
                open = "" }' {} + |
        grep -vE ': catena_((aligned_alloc|calloc|malloc|realloc|free|heap_offset|heap_get_stats)|(init|abort|time|compute|world|get_place|version|status_string|last_error|job_print|config_print)|(machine|model|sim|accumulator|compare)_[a-z0-9_]*|group_(rank|size)|cart_(coords|get|ndims|rank|shift)|dims_create|neighborhood_neighbors|get_address|type_(size|extent|true_extent))$'
}

# Data in the interface would be copied into programs and freeze its layout.
# The names of symbol versions are absolute.
exported_data() {
    nm -D --defined-only "$build"/lib/libcatena{,-sim}.so |
        awk 'NF == 3 && $2 != "T" && $2 != "A" { print $3 }'
}

long_functions() {
    find lib transports -name '*.c' -exec awk '/^\{/ { start = FNR }
        /^\}/ { if (start && FNR - start > 80) print FILENAME ":" start
                start = 0 }' {} +
}

shell_syntax() {
    grep -rlE '^#!.*bash' tools tests .ci | while read -r file; do
        bash -n "$file" 2>&1
    done
}

formatting() {
    git ls-files '*.[ch]' 2>/dev/null | xargs -r clang-format --dry-run 2>&1 |
        grep -E 'warning' | cut -d: -f1 | sort -u
}

report "the lint refuses what it must" "$(tests/lint/selftest.py 2>&1)"
report "public functions take the lock of the progress thread" "$(unlocked)"
report "rules and components know nothing of hierarchies" \
    "$(grep -rnE '#include "coll/(ml|hierarchy)/' lib/coll/sbgp lib/coll/bcol |
        grep -v '^lib/coll/sbgp/user.c:')"
report "hierarchies know no component but by its table" \
    "$(grep -rnE '#include "coll/bcol/(p2p|shm)/' lib --include='*.[ch]' |
        grep -v '^lib/coll/bcol/')"
names() { # RULE [MORE_FILES]
    git ls-files 'lib/*.[ch]' 'transports/*.[ch]' "${@:2}" | xargs tests/lint/names.py "$1"
}
report "names use the words of docs/architecture.md" "$(names words 'docs/man/*.scd')"
report "no type is defined twice" "$(names types)"
report "every public function has a comment" \
    "$(tests/lint/interface.py documented include/catena/*.h)"
report "functions that free take the address of the handle" \
    "$(tests/lint/interface.py freed include/catena/*.h)"
report "libcatena includes nothing of the simulator" \
    "$(grep -rnE '#include (<catena/sim\.h>|"transports/sim/)' lib transports |
        grep -vE '^(lib/sim\.c|transports/sim/)')"
report "no layer includes or names what is of a higher one" "$(names layers)"
report "docs/from-mpi.md has the collectives, and no names that do not exist" \
    "$(tests/lint/from_mpi.py)"
report "manual pages list the collectives of calls.def" "$(tests/lint/calls.py)"
report "each mutant's text occurs once" "$(tests/mutants -l | grep '^ERROR')"
report "only transports/ucx and catena-info include UCX" \
    "$(only_in '(ucp|uct|ucs)/' 'transports/ucx/|tools/info/libraries.c|tests/unit/transports/test_ucx')"
report "only boot and tools include PMIx" \
    "$(only_in 'pmix' 'lib/boot/|tools/prun/|tools/info/libraries.c|tests/fault/')"
report "only topo, the launcher's binding and catena-info include hwloc" \
    "$(only_in 'hwloc' 'lib/topo/|tools/info/cores.c|tools/prun/bind.c')"
report "only the model, the benchmark and catena-info include jansson" \
    "$(only_in 'jansson' 'lib/model/|tools/bench/|tools/info/(facts|libraries).c')"
report "only heap and topo include libnuma" \
    "$(only_in 'numa' 'lib/heap/|lib/topo/')"
report "only the mapping of graphs includes SCOTCH" \
    "$(only_in 'scotch' 'lib/map/scotch.c')"
# Of lib/core they use what is linked into them: catena_core in lib/meson.build.
# The list of collectives depends on nothing. libcatena-mpi logs as the library does.
report "tools and tests see only public headers, catena_core and the list of collectives" \
    "$(grep -rnE "#include \"($folders)/" \
        tools docs tests/{oracle,peers,ranks,sim} --include='*.[ch]' |
        grep -vE '"core/(clock|cores|hash|joined|memory|peer|random|suggest|units|vector)\.h"' |
        grep -vE '"core/(calls\.def|description\.h)"|^tools/mpi/preload\.h:.*"core/log\.h"' |
        grep -v '^tests/sim/\(accesses\|areas\|checkpoint\|states\)\.c:')"
report "public headers compile alone in old and new standards" "$(public_headers)"
report "a deprecated function is a warning" "$(deprecation)"
report "no mutable globals" "$(mutable_globals)"
report "the libraries export functions only" "$(exported_data)"
report "no function over 80 lines" "$(long_functions)"
report "nothing left for later" \
    "$(grep -rnE '\b(TODO|FIXME|XXX|HACK)\b' lib include transports tools \
        --include='*.[ch]')"
report "shell scripts parse" "$(shell_syntax)"
if command -v clang >/dev/null; then
    report "no warnings of clang" "$(tests/lint/clang.py "$build")"
fi
if command -v clang-format >/dev/null &&
    clang-format --version | grep -q 'version 14'; then
    report "clang-format" "$(formatting)"
fi
exit $((failed > 0))
