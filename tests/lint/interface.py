#!/usr/bin/env python3
"""Rules for the public headers: prints a line for each violation.

usage: tests/lint/interface.py documented|freed HEADER...

documented  a function has a comment, or follows the blocking form that has one:
            catena_iX and catena_X_init after catena_X
freed       a function that frees takes the address of the handle
"""
import re
import sys

FUNCTION = re.compile(r'(\*/\s*)?CATENA_API\s+(?:CATENA_\w+\s+)?([\w\s*]*?)'
                      r'(\bcatena_\w+)\s*\(([^;]*?)\)[^;)]*;', re.S)
# Memory, not a handle; and handles that are no pointers.
PLAIN = {'catena_free'}
HANDLES = ('catena_type_t', 'catena_op_t')


def documented(path, functions):
    known = set()
    for comment, name, _ in functions:
        base = re.sub(r'^catena_i(?=[a-z])', 'catena_', name)
        base = re.sub(r'_init$', '', base)
        base = base.replace('catena_group_isplit', 'catena_group_split')
        if comment or base in known:
            known.add(name)
        else:
            print(f'{path}: {name} has no comment')


def freed(path, functions):
    for _, name, arguments in functions:
        if not re.search(r'_(free|close|finalize)$', name) or name in PLAIN:
            continue
        kind = ' '.join(arguments.split())
        if not ('**' in kind or kind.startswith(
                tuple(handle + ' *' for handle in HANDLES))):
            print(f'{path}: {name}({kind}): expected the address of the handle')


def main():
    rules = {'documented': documented, 'freed': freed}
    if len(sys.argv) < 3 or sys.argv[1] not in rules:
        sys.exit(__doc__)
    for path in sys.argv[2:]:
        with open(path, encoding='utf-8') as file:
            functions = [(comment, name, arguments) for comment, _, name,
                         arguments in FUNCTION.findall(file.read())]
        rules[sys.argv[1]](path, functions)


if __name__ == '__main__':
    main()
