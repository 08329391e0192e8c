#!/usr/bin/env python3
"""The pages list the collectives of lib/core/calls.def: prints a line for
each violation.

usage: tests/lint/calls.py
"""
import re
from pathlib import Path

NEIGHBOR = 'neighbor_'


def listed(page, pattern):
    """The names in a sentence of a page."""
    sentence = re.search(pattern, Path(page).read_text(), flags=re.S)
    return set(re.findall(r'\w+', sentence.group(1))) - {'and'} if sentence \
        else set()


def compare(page, found, wanted):
    for name in sorted(wanted - found):
        print(f'{page}: the collective {name} is missing')
    for name in sorted(found - wanted):
        print(f'{page}: {name} is no collective of calls.def')


def main():
    rows = re.findall(r'^CTN_(?:CALL|VARIANT|ALLTOALL|NEIGHBOR)\(\w+, (\w+),',
                      Path('lib/core/calls.def').read_text(), flags=re.M)
    of_groups = {name for name in rows if not name.startswith(NEIGHBOR)}
    of_neighbors = set(rows) - of_groups
    page = 'docs/man/catena.7.scd'
    compare(page, listed(page, r'The collectives are (.*?), each blocking'),
            of_groups)
    compare(page, {NEIGHBOR + name for name in listed(
        page, r'Neighborhood\s+collectives are (.*?), in the same forms')},
            of_neighbors)
    page = 'docs/man/catena-bench.1.scd'
    text = Path(page).read_text()
    compare(page, {name for name in rows if f'_{name}_' in text}, set(rows))


if __name__ == '__main__':
    main()
