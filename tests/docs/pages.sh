#!/usr/bin/env bash
# Manual pages: every public function has one in section 3, and they are correct.
# usage: tests/docs/pages.sh BUILD_DIR
set -u
# shellcheck source=tests/script.sh
. "$(dirname "$0")/../script.sh"
source=$(realpath "$here/../..")
for program in doxygen man groff lexgrog python3; do
    command -v $program >"$out" || {
        echo "skip - pages: there is no $program"
        exit 0
    }
done

# report NAME VIOLATIONS: passes without violations
report() {
    printf '%s\n' "$2" >"$out"
    verdict "pages: $1" "${#2}"
}

functions() {
    nm -D --defined-only "$build"/lib/libcatena{,-sim}.so |
        awk '$3 ~ /^catena_/ { sub(/@.*/, "", $3); print $3 }' | sort -u
}

without_page() {
    functions | while read -r name; do
        [ -e "man3/$name.3" ] || echo "$name has no page"
    done
}

# Aliases of whole pages: one file refers to the other, which exists.
lost_aliases() {
    local file target
    local -A alias=()
    while IFS=: read -r file target; do
        alias[$file]=${target#.so }
    done < <(grep -H '^\.so ' man3/*)
    [ ${#alias[@]} -gt 0 ] || echo "no page has an alias"
    for file in "${!alias[@]}"; do
        target=${alias[$file]}
        [ -e "$target" ] || echo "$file: there is no $target"
        [ -z "${alias[$target]:-}" ] || echo "$file: $target is an alias"
    done
}

# lacking SECTION NAME...: pages without the section
lacking() {
    (cd man3 && grep -Lx "\.SH $1" "${@:2}" | sed "s/\.3$/ has no $1/")
}

# Each name that a page has in NAME is a page, and vice versa.
wrong_names() {
    local lines
    lines=$(lexgrog "${files[@]}" 2>&1)
    {
        grep -H '^\.so ' man3/* | sed -E 's/^man3.(.*)\.3:\.so man3.(.*)\.3/\2 alias \1/'
        sed 's/^man3.//; s/\.3: "/ /' <<<"$lines"
    } | awk '
        $2 == "alias" { file[$3] = 1; target[$3] = $1; next }
        { if ($2 " " $3 !~ /^[A-Za-z0-9_]+ -/ || NF < 4) print "cannot read: " $0
          file[$1] = 1; target[$1] = $1; listed[$2] = 1; names[$1, $2] = 1 }
        END { for (name in file) if (!((target[name], name) in names))
                  print target[name] " does not list " name
              for (name in listed) if (!file[name]) print name " is not a page" }'
    [ "$(sed 's/: .*//' <<<"$lines" | sort -u | wc -l)" -eq ${#files[@]} ] ||
        echo "some pages have no name"
}

mkdir "$work/man"
cd "$work/man" || exit 1
export MANPATH=$PWD MANWIDTH=80 LC_ALL=C.UTF-8
# A comment that Doxygen does not understand is a message on stderr.
python3 -B "$source/docs/man/functions.py" "$source" depfile man3 "$work/html" \
    >"$out" 2>"$err"
status=$?
[ -s "$err" ] && status=1
verdict "pages: Doxygen understands all comments" $status
[ -e "$work/html/index.html" ]
verdict "pages: HTML" $?
mapfile -t files < <(grep -L '^\.so ' man3/*)
mapfile -t pages < <(printf '%s\n' "${files[@]}" | sed 's/^man3.//; s/\.3$//')
mapfile -t results < <(grep -lE '^\.SH SYNOPSIS' man3/catena_*.3 |
    xargs grep -LE '^\\fB(typedef|void [a-z_]*\()' | sed 's/^man3.//; s/\.3$//')
mapfile -t functions < <(grep -lE '^\\fB[^(]*\bcatena_[a-z_]+\((.*[^d]\);|[^)]*)\\fP$' man3/catena_*.3 |
    sed 's/^man3.//; s/\.3$//')
[ "${#pages[@]}" -ge 100 ] && [ "${#functions[@]}" -ge 80 ] && [ "${#results[@]}" -ge 80 ]
verdict "pages: at least 100" $? "${#pages[@]} pages, ${#results[@]} with a result"

report "each public function has one" "$(without_page)"
report "aliases refer to pages" "$(lost_aliases)"
report "all have NAME, SYNOPSIS, DESCRIPTION and SEE ALSO" \
    "$(for section in NAME SYNOPSIS DESCRIPTION 'SEE ALSO'; do
        lacking "$section" "${pages[@]/%/.3}"
    done)"
report "functions with parameters describe them" \
    "$(lacking PARAMETERS "${functions[@]/%/.3}")"
report "functions that return something say what" \
    "$(lacking 'RETURN VALUE' "${results[@]/%/.3}")"
report "whatis finds each by its name" "$(wrong_names)"
report "groff renders them without a warning" \
    "$(groff -man -ww -z "${files[@]}" 2>&1)"
if command -v mandoc >"$out"; then
    report "mandoc finds nothing wrong" \
        "$(mandoc -T lint -W warning "${files[@]}" 2>&1)"
fi
for name in catena_iallreduce catena_allreduce_init CATENA_SUM catena_sim_run; do
    man --warnings=w "$name" 2>"$err" >"$out"
    [ ! -s "$err" ] && grep -q "$name" "$out"
    verdict "pages: man $name" $?
done
if command -v scdoc >"$out"; then
    report "scdoc reads those of the other sections" \
        "$(for page in "$source"/docs/man/*.scd; do
            scdoc <"$page" 2>&1 >"$out" | sed "s|^|${page##*/}: |"
        done)"
fi
exit $((failed > 0))
