#!/usr/bin/env python3
"""Rules for names in the library: prints a line for each violation.

usage: tests/lint/names.py words|types|layers FILE...

words   identifiers made of words for which docs/architecture.md has another
types   types and structs that are defined in two files
layers  identifiers of a higher layer in a file of a lower one
"""
import os
import re
import sys
from collections import defaultdict

# Words of identifiers, between underscores: the old one and what stands for it.
WORDS = {
    'alarm': 'abort flag', 'astray': 'preferred core', 'bell': 'doorbell',
    'board': 'node area', 'bounce': 'staging', 'bundle': 'aggregate',
    'census': 'facts', 'channel': 'sequence', 'clerk': 'node coordinator',
    'complain': 'report', 'crowded': 'oversubscribed',
    'hoard': 'exhaust heap', 'joint': 'aggregate', 'lane': 'chain',
    'liar': 'inconsistent comparator', 'logchain': 'log_chain',
    'mail': 'message', 'nap': 'sleep', 'notice': 'rts',
    'parcel': 'send handle', 'parting': 'teardown', 'patience': 'backoff',
    'pile': 'vector', 'remains': 'deferred free', 'roster': 'member table',
    'scheme': 'algorithm', 'sketch': 'schedule builder', 'site': 'locality',
    'starved': 'heap exhausted', 'unfit': 'mismatch', 'wish': 'posted',
}
# Whole identifiers whose words have other meanings, too.
NAMES = {
    'ctn_basic_t', 'ctn_card_t', 'ctn_given_t', 'ctn_item_t', 'ctn_letter_t',
    'ctn_part_t', 'ctn_plan_t', 'ctn_post_t', 'ctn_spread_t', 'ctn_transfer_t',
    'ctn_fences_t', 'ctn_grant_t', 'ctn_landing_t', 'ctn_waiting_t',
}
# Layers from the bottom up, and what their names begin with.
LAYERS = [
    ('core', ['config', 'log', 'name', 'copy', 'word', 'locality']),
    ('heap', ['heap', 'arena', 'slab', 'runs', 'cache', 'segment']),
    ('transports', ['transport', 'endpoint', 'shm_ops', 'ucx', 'sim']),
    ('exec', ['exec', 'op', 'sequence', 'message', 'doorbell', 'staging']),
    ('group', ['group', 'chain', 'log_chain', 'hidden']),
    ('split', ['split', 'record', 'bin']),
    ('topo', ['topo', 'member_table', 'leader_ring', 'node_area']),
    ('coll', ['alltoall', 'ml', 'bcol', 'hierarchy', 'pairwise', 'leader_layout', 'leader_fragment', 'leaders']),
    ('neighbor', ['neighbor', 'neighborhood', 'schedule', 'link', 'grid']),
]
SKIP = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'
                  r"'(?:\\.|[^'\\\n])*'", re.S)


def code_of(path):
    """A file without comments and strings, its lines kept."""
    with open(path, encoding='utf-8') as file:
        text = file.read()
    return SKIP.sub(lambda m: re.sub(r'[^\n]', ' ', m.group(0)), text)


def identifiers(path):
    for number, line in enumerate(code_of(path).split('\n'), 1):
        if not line.startswith('#include'):
            for name in re.findall(r'[A-Za-z_]\w*', line):
                yield number, name


def words(paths):
    for path in paths:
        for number, name in identifiers(path):
            for word in name.lower().split('_'):
                if word in WORDS:
                    print(f'{path}:{number}: {name}: "{word}" is called '
                          f'"{WORDS[word]}"')
            if name in NAMES:
                print(f'{path}:{number}: {name} has another name')


def types(paths):
    found = defaultdict(set)
    for path in paths:
        code = code_of(path)
        for tag in re.findall(r'\b(?:struct|enum|union)\s+(\w+)\s*\{', code):
            found['struct ' + tag].add(path)
        for name in re.findall(r'^\}\s*(\w+);', code, re.M):
            found[name].add(path)
        for name in re.findall(r'^typedef [^;{]*?\b(\w+_t);', code, re.M):
            found[name].add(path)
    for name, where in sorted(found.items()):
        if len(where) > 1:
            print(f'{name} is defined in {", ".join(sorted(where))}')


def layers(paths):
    order = [name for name, _ in LAYERS]
    for path in paths:
        parts = path.split(os.sep)
        layer = parts[0] if parts[0] == 'transports' else parts[1]
        if path.startswith('lib/split/call/'):
            layer = 'coll'  # it uses the topology that splits make
        if layer not in order or path == 'lib/heap/api.c':
            continue
        above = [(name, p) for name, prefixes in LAYERS[order.index(layer) + 1:]
                 for p in prefixes]
        for number, name in identifiers(path):
            for upper, prefix in above:
                if re.match(rf'ctn_{prefix}(_|$)', name):
                    print(f'{path}:{number}: {name} is of {upper}')


def main():
    rules = {'words': words, 'types': types, 'layers': layers}
    if len(sys.argv) < 3 or sys.argv[1] not in rules:
        sys.exit(__doc__)
    rules[sys.argv[1]](sys.argv[2:])


if __name__ == '__main__':
    main()
