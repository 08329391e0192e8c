#!/usr/bin/env python3
"""Rules for docs/from-mpi.md: prints a line for each violation.

usage: tests/lint/from_mpi.py

Each name of catena in it exists in the public headers, and it has each function
of coll.h and request.h, and each neighborhood collective.
"""
import re
from pathlib import Path


def functions(path):
    """The functions that a header declares."""
    text = re.sub(r'/\*.*?\*/', ' ', Path(path).read_text(), flags=re.S)
    return set(re.findall(r'\b(catena_\w+)\s*\(', text))


def main():
    text = Path('docs/from-mpi.md').read_text()
    page = set(re.findall(r'\b(?:catena_|CATENA_)\w+', text))
    headers = ''.join(p.read_text() for p in Path('include/catena').glob('*.h'))
    known = set(re.findall(r'\b(?:catena_|CATENA_)\w+', headers))
    for name in sorted(page - known):
        print(f'docs/from-mpi.md: {name} does not exist')
    wanted = functions('include/catena/coll.h')
    wanted |= functions('include/catena/request.h')
    wanted |= {name for name in functions('include/catena/neighbor.h')
               if re.match(r'catena_i?neighbor_', name)}
    for name in sorted(wanted - page):
        print(f'docs/from-mpi.md: {name} is missing')


main()
