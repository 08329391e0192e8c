#!/usr/bin/env python3
"""Type lines and Tab in an interactive shell; print the words that result.

usage: type_tab.py bash|zsh|fish FILE
FILE is the shell's completions. For each line of stdin it prints one with the
words after Tab, separated by blanks.
"""
import os
import pty
import re
import select
import sys
import time

BASH_COMPLETION = "/usr/share/bash-completion/bash_completion"
SHELLS = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], """
[ ! -r {common} ] || . {common}
. {file}
args() {{ printf '<%s>' "$@"; echo; }}
"""),
    "zsh": (["zsh", "-f", "-i"], """
mkdir $TMPDIR/zsh; cp {file} $TMPDIR/zsh/_catena; fpath=($TMPDIR/zsh $fpath)
autoload -Uz compinit; compinit -u -d $TMPDIR/zsh/dump; bindkey -e
unsetopt prompt_sp; zstyle ':completion:*' list-prompt ''
args() {{ printf '<%s>' "$@"; echo; }}
"""),
    "fish": (["fish", "--no-config", "-i"], """
source {file}
function args; printf '<%s>' $argv; echo; end
"""),
}


def read_until(terminal, pattern, limit=30):
    """The match of the pattern in what the shell writes."""
    seen, end = b"", time.monotonic() + limit
    while not (found := re.search(pattern, seen)):
        left = end - time.monotonic()
        if left < 0 or not select.select([terminal], [], [], left)[0]:
            sys.exit(f"type_tab.py: no {pattern} within {limit} s in {seen}")
        seen += os.read(terminal, 65536)
    return found


def main():
    command, setup = SHELLS[sys.argv[1]]
    child, terminal = pty.fork()
    if child == 0:
        env = {**os.environ, "TERM": "dumb", "HISTFILE": "", "LC_ALL": "C.UTF-8",
               "HOME": os.environ["TMPDIR"], "XDG_DATA_HOME": os.environ["TMPDIR"]}
        os.execvpe(command[0], command, env)
    for line in [*setup.format(file=sys.argv[2],
                               common=BASH_COMPLETION).strip().splitlines(),
                 "args ready"]:
        os.write(terminal, line.encode() + b"\r")
    read_until(terminal, rb"\n<ready>\r")
    for line in sys.stdin.read().splitlines():
        os.write(terminal, line.encode() + b"\t\x01args \r")
        words = read_until(terminal, rb"\n<([^\r\n]*)>\r")[1].decode()
        print(words.replace("><", " ").rstrip(), flush=True)
    os.write(terminal, b"exit\r")
    os.waitpid(child, 0)


if __name__ == "__main__":
    main()
