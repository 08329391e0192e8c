#!/usr/bin/env bash
# Completions of bash, zsh and fish, in interactive shells.
# usage: tests/docs/completions.sh BUILD_DIR
set -u
# shellcheck source=tests/script.sh
. "$(dirname "$0")/../script.sh"
completions=$build/tools/completions
PATH=$build/tools:$PATH
common=/usr/share/bash-completion/bash_completion

# Lines before Tab, and what they are afterwards; none: unchanged.
cat >"$work/lines" <<'END'
prun --bind-to c -> prun --bind-to core
prun --bind-to core:o -> prun --bind-to core:overload-allowed
prun --map-by ppr:2:nu -> prun --map-by ppr:2:numa
prun --map-by=ppr:2:nu -> prun --map-by=ppr:2:numa
prun --map-by pp -> prun --map-by ppr:
prun --display=m -> prun --display=map
prun --output /us -> prun --output /usr
prun --output tag,ti -> prun --output tag,timestamp
prun -n 4 --ma -> prun -n 4 --map-by
prun -np 4 --ma -> prun -np 4 --map-by
prun -n 4 prun x : --wd -> prun -n 4 prun x : --wdir
prun -n 4 --bind-to core catena-inf -> prun -n 4 --bind-to core catena-info
prun --map-by ppr:2:numa catena-inf -> prun --map-by ppr:2:numa catena-info
prun -n 4 true --bi
catena-info --alg -> catena-info --algorithms
catena-bench --buffers=ma -> catena-bench --buffers=malloc
catena-bench -i 5 exs -> catena-bench -i 5 exscan
catena-bench endp -> catena-bench endpoints
prun -n 2 -x CATENA_SPI -> prun -n 2 -x CATENA_SPIN=
prun -x CATENA_WAIT=sp -> prun -x CATENA_WAIT=spin
prun -n 2 -x CATENA_STATS=of -> prun -n 2 -x CATENA_STATS=off
END
# bash needs bash-completion to complete the options of a program of prun.
cat "$work/lines" - >"$work/more" <<'END'
prun -n 4 catena-info --alg -> prun -n 4 catena-info --algorithms
prun --map-by ppr:2:numa catena-info --alg -> prun --map-by ppr:2:numa catena-info --algorithms
END

# following SHELL COMMAND: its options, by the function that the shell calls
following() {
    case $1 in
    bash) bash -c ". $completions/catena.bash; _catena_following $2 -" ;;
    zsh) zsh -fc ". $completions/catena.zsh 2>&-; _catena_following $2 -" ;;
    fish) fish -N -c ". $completions/catena.fish; __catena_following $2 -" ;;
    esac | cut -f 1 | sort -u
}

# same_options SHELL COMMAND: the options that --help describes, and some
same_options() {
    following "$@" >"$work/options" && [ "$(wc -l <"$work/options")" -gt 5 ] &&
        diff <("$2" --help | grep -E '^ {2,6}-' | sed -E 's/^ +//; s/  .*//' |
            grep -oE '(^|[ ,])-{1,2}[A-Za-z?][A-Za-z-]*' | tr -d ' ,' | sort -u) \
            "$work/options"
}

# type_lines SHELL FILE: type the lines of the file; a case for each
type_lines() {
    local line want got
    sed 's/ -> .*//' "$2" >"$work/typed"
    python3 "$here/type_tab.py" "$1" "$completions/catena.$1" \
        <"$work/typed" >"$work/got" 2>"$err"
    while read -r line && read -r got <&3; do
        want=${line#* -> }
        printf 'expected %s\ngot      %s\n' "$want" "$got" >"$out"
        [ "${got%/}" = "$want" ]
        verdict "$1: ${line% -> *}" $?
    done <"$2" 3<"$work/got"
    [ "$(wc -l <"$work/got")" -eq "$(wc -l <"$2")" ]
    verdict "$1: a result for each line" $?
}

for shell in bash zsh fish; do
    if ! command -v $shell >"$out"; then
        echo "skip - completions of $shell: it is not installed"
        continue
    fi
    for command in prun catena-info catena-bench; do
        try "$shell: $command has the options of its --help" same_options $shell $command
    done
    if [ $shell = bash ] && [ ! -r $common ]; then
        echo "skip - bash: programs of prun: there is no bash-completion"
        type_lines $shell "$work/lines"
    else
        type_lines $shell "$work/more"
    fi
done
exit $((failed > 0))
