# Completion of prun, catena-info and catena-bench for bash. The options are those
# that --help of each lists. Installed under the name of each command.

# _catena_options COMMAND [valued]: its options; with "valued" only those with one
_catena_options() {
    "$1" --help 2>/dev/null | awk -v valued="${2-}" '
        /^  ? ? ? ? ?-/ {
            sub(/^ +/, "")
            sub(/  .*/, "")
            has_value = $0 ~ /=/ || $0 ~ /^-[A-Za-z] [A-Z]/
            if (valued != "" && !has_value) next
            n = split($0, part, /, /)
            for (i = 1; i <= n; i++) {
                sub(/[[]?[= ].*/, "", part[i])
                print part[i]
            }
        }'
}

# _catena_program: set `at` to the place of the program in the words of prun that
# are complete; 0: it is not there yet, or the next one follows
_catena_program() {
    local valued i word
    valued=" $(_catena_options "${COMP_WORDS[0]}" valued | tr '\n' ' ') -np "
    at=0
    for ((i = 1; i < COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if [[ $word == : ]]; then
            at=0
        elif ((at == 0)) && [[ $word == -* ]]; then
            [[ ${COMP_WORDS[i + 1]-} != "=" ]] || i=$((i + 1))
            [[ $valued != *" $word "* ]] || i=$((i + 1))
        elif ((at == 0)); then
            at=$i
        fi
    done
    # The word that is completed belongs to an option.
    ((i == COMP_CWORD)) || at=-1
}

_catena_prun() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} at
    COMPREPLY=()
    [[ $cur != "=" ]] || cur=
    [[ $prev != "=" ]] || prev=${COMP_WORDS[COMP_CWORD - 2]}
    _catena_program
    if ((at > 0)); then
        ! declare -F _command_offset >/dev/null || _command_offset "$at"
    elif ((at < 0)); then
        _catena_values "$prev" "$cur"
    elif [[ $cur == -* ]]; then
        mapfile -t COMPREPLY < <(
            compgen -W "$(_catena_options "${COMP_WORDS[0]}")" -- "$cur")
    else
        mapfile -t COMPREPLY < <(compgen -c -- "$cur")
    fi
}

# _catena_values OPTION WORD: complete the value of an option of prun
_catena_values() {
    local values=
    case $1 in
    --map-by) values="slot node hwthread core l3 numa socket ppr:" ;;
    --rank-by) values="fill span" ;;
    --bind-to) values="none hwthread core l3 numa socket" ;;
    --display) values="map bind" ;;
    --stdin) values="all none" ;;
    --output) values="tag timestamp" ;;
    esac
    mapfile -t COMPREPLY < <(
        compgen -W "$values" -- "$2"
        case $1 in --output | --wdir) compgen -d -- "$2" ;; esac
    )
}

_catena_tool() {
    local cur=${COMP_WORDS[COMP_CWORD]}
    COMPREPLY=()
    [[ $cur != -* ]] || mapfile -t COMPREPLY < <(
        compgen -W "$(_catena_options "${COMP_WORDS[0]}")" -- "$cur")
}

complete -o default -F _catena_prun prun catena-prun
complete -o default -F _catena_tool catena-info catena-bench
