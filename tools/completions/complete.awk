# What may follow on a command line of prun, catena-info or catena-bench. The
# arguments are its words, the last one up to the cursor; the input is the output
# of --help of the command, which describes its options and collectives; settings
# for -x come from catena-info beside it. Prints lines of these forms:
#   WORD TAB TEXT  the word may be this; TEXT describes it
#   :command       the name of a command
#   :offset N      what follows belongs to the program that is word N, from 1 on
#   :directory P   a directory, after the prefix P
#   :file          a file

function setup() {
    # Values of options; those that end with : or = are followed by more.
    values["--map-by"] = "slot node hwthread core l3 numa socket ppr:"
    values["--rank-by"] = "fill span"
    values["--bind-to"] = "none hwthread core l3 numa socket"
    values["--display"] = "map bind"
    values["--stdin"] = "all none"
    values["--output"] = "tag timestamp dir="
    values["--buffers"] = "heap malloc mixed"
    values["--color"] = "int string:"
    values["--key"] = "int none"
    values["--weights"] = "uniform random: heavy:"
    # What follows a part of a value, which ends where the expression does.
    after["--map-by"] = "^ppr:[0-9]+:"
    rest["--map-by"] = "node hwthread core l3 numa socket"
    after["--bind-to"] = "^[a-z0-9]+:"
    rest["--bind-to"] = "overload-allowed"
    after["--output"] = "^.*,"
    rest["--output"] = "tag timestamp"
    directory["--output"] = directory["--wdir"] = 1
    file["--calibrate"] = file["--tune"] = 1
    valued["-np"] = 1
}

BEGIN {
    setup()
    for (n = 1; n < ARGC; n++) {
        word[n] = ARGV[n]
        ARGV[n] = ""
    }
    n--
}

# -n, --np=N, --n=N    what it does, which may go on in the next lines
/^  ? ? ? ? ?-/ {
    sub(/^ +/, "")
    text = $0
    sub(/^[^ ]+( [^ ]+)*  +/, "", text)
    if (text == $0) text = ""
    sub(/  .*/, "")
    has_value = /=/ || /^-[A-Za-z] [A-Z]/
    last = first = count + 1
    parts = split($0, part, /, /)
    for (i = 1; i <= parts; i++) {
        if (part[i] !~ /^-/) continue
        sub(/[[]?[= ].*/, "", part[i])
        name[++count] = part[i]
        if (has_value) valued[part[i]] = 1
        described[count] = text
    }
    next
}
# Collectives:
#   NAME    what it does
/^Collectives:/ { collectives = 1 }
collectives && /^  [a-z]/ {
    operand[++operands] = $1
    sub(/^ +[^ ]+ +/, "")
    operand_text[operands] = $0
}
/^ +[^ ]/ && /^          / && count {
    sub(/^ +/, "")
    for (i = first; i <= count; i++) described[i] = described[i] " " $0
    next
}
{ first = count + 1 }

# print_settings TEXT: CATENA_NAME=, and after that its values that are one word
function print_settings(text,    info, line, name, expects, item, i, items) {
    info = word[1]
    sub(/[^\/]*$/, "catena-info", info)
    if (info ~ /[^A-Za-z0-9_.\/+-]/) return # for a shell
    info = info " -f 2>/dev/null"
    while ((info | getline line) > 0) {
        if (sub(/^# expects: /, "", line)) expects = line
        if (line !~ /^CATENA_[A-Z_0-9]+=/) continue
        name = line
        sub(/=.*/, "=", name)
        if (index(text, name) != 1) print name "\t"
        else {
            gsub(/ \([^)]*\)/, "", expects)
            items = split(expects, item, /,? or |, /)
            for (i = 1; i <= items; i++)
                if (item[i] ~ /^[a-z0-9-]+$/) print name item[i] "\t"
        }
    }
}

# print_values OPTION TEXT PREFIX: values of an option that begins with TEXT
function print_values(option, text, prefix,    list, item, i, items, head) {
    if (option == "-x") print_settings(text)
    list = values[option]
    if (option in after && match(text, after[option])) {
        head = substr(text, 1, RLENGTH)
        list = rest[option]
    }
    items = split(list, item, / /)
    for (i = 1; i <= items; i++) print prefix head item[i] "\t"
    if (directory[option] && head == "") print ":directory " prefix
    if (file[option]) print ":file"
}

END {
    program = word[1] ~ /(^|\/)(catena-)?prun$/
    for (i = 2; i < n; i++) {
        if (program && word[i] == ":") at = 0
        else if (!at && word[i] ~ /^-/) i += word[i] in valued
        else if (program && !at) at = i
        else given = 1
    }
    if (at) print ":offset " at
    else if (i > n && n > 1) print_values(word[n - 1], word[n], "")
    else if (match(word[n], /^--[a-z0-9-]+=/))
        print_values(substr(word[n], 1, RLENGTH - 1), \
                     substr(word[n], RLENGTH + 1), substr(word[n], 1, RLENGTH))
    else if (word[n] ~ /^-/)
        for (i = 1; i <= count; i++) print name[i] "\t" described[i]
    else if (operands && !given)
        for (i = 1; i <= operands; i++) print operand[i] "\t" operand_text[i]
    else print program ? ":command" : ":file"
}
