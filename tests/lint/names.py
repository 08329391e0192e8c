#!/usr/bin/env python3
"""Rules for names in the library: prints a line for each violation.

usage: tests/lint/names.py [words|types|layers FILE...]

Without arguments all rules are applied to all files of the library, and the
status is 1 if there is a violation.

words   identifiers made of words for which docs/architecture.md has another; in
        pages (.scd) those with an underscore, and words in bold
types   types and structs that are defined in two files
layers  includes of a higher layer, and names of its things: identifiers,
        members of structs, strings
"""
import contextlib
import glob
import io
import re
import subprocess
import sys
from collections import defaultdict

# Words of identifiers, between underscores: the old one and what stands for it.
WORDS = {
    'alarm': 'abort flag', 'alike': 'uniform', 'astray': 'preferred core',
    'bag': 'vector', 'bell': 'doorbell',
    'board': 'node area', 'bounce': 'staging', 'bundle': 'aggregate',
    'census': 'facts', 'channel': 'sequence', 'clerk': 'node coordinator',
    'complain': 'report', 'crowded': 'oversubscribed',
    'grant': 'cts', 'hoard': 'exhaust heap', 'joint': 'aggregate', 'lane': 'chain',
    'landing': 'staging', 'lend': 'zero-copy', 'lent': 'zero-copy',
    'letter': 'receive handle',
    'liar': 'inconsistent comparator', 'logchain': 'log_chain',
    'mail': 'message', 'nap': 'sleep', 'notice': 'rts',
    'parcel': 'send handle', 'parting': 'teardown', 'patience': 'backoff',
    'pile': 'vector', 'quick': 'inline', 'remains': 'deferred free', 'roster': 'member table',
    'said': 'logged', 'scheme': 'algorithm', 'settle': 'finalize', 'sketch': 'schedule builder', 'site': 'locality',
    'starved': 'heap exhausted', 'unfit': 'mismatch', 'wish': 'posted',
}
# Whole identifiers whose words have other meanings, too.
NAMES = {
    'ctn_basic_t', 'ctn_card_t', 'ctn_given_t', 'ctn_item_t', 'ctn_letter_t',
    'ctn_part_t', 'ctn_plan_t', 'ctn_post_t', 'ctn_spread_t', 'ctn_transfer_t',
    'ctn_fences_t', 'ctn_grant_t', 'ctn_landing_t', 'ctn_waiting_t',
}


class Layer:
    """A layer: what names begin with after ctn_, and words that stand for its
    things anywhere in an identifier or a string of a lower layer. Words with
    other meanings in lower layers (reduce, scatter, link, level) have no
    place here."""

    def __init__(self, name, prefixes=(), words=()):
        self.name = name
        self.prefix = re.compile(rf'ctn_({"|".join(prefixes)})(_|$)') \
            if prefixes else None
        self.words = set(words)


# Layers from the bottom up; each may include itself and those before it.
LAYERS = [
    Layer('core', ['config', 'log', 'name', 'copy', 'word', 'locality']),
    Layer('model', ['machine', 'tuning', 'formula'], ['tuning']),
    Layer('map', ['map', 'grid']),
    Layer('transports', ['transport', 'endpoint', 'shm_ops', 'ucx', 'sim']),
    Layer('heap', ['heap', 'arena', 'slab', 'runs', 'cache', 'segment']),
    Layer('type'),
    Layer('exec', ['exec', 'op', 'sequence', 'message', 'doorbell', 'staging',
                   'span', 'put_spans']),
    Layer('group', ['group', 'groups', 'chain', 'log_chain', 'hidden',
                    'control_block'], ['groups', 'chain', 'hidden']),
    Layer('split', ['split', 'record', 'bin']),
    Layer('topo', ['topo', 'member_table', 'node_area'],
          ['topo', 'leader', 'leaders']),
    Layer('coll', ['alltoall', 'ml', 'bcol', 'hierarchy', 'pairwise',
                   'leader_layout', 'leader_fragment', 'leaders', 'select'],
          ['alltoall', 'alltoallv', 'alltoallw', 'allreduce', 'hierarchy',
           'hierarchies', 'bcol', 'sbgp', 'pairwise', 'bruck', 'onmpml']),
    Layer('neighbor', ['neighbor', 'neighborhood', 'schedule', 'link'],
          ['neighborhood', 'neighborhoods']),
]
ORDER = [layer.name for layer in LAYERS]
# What stands outside the order: the public interface of the layers below, and
# the list of all settings.
OUTSIDE = {'lib/catena.c', 'lib/join.c', 'lib/join.h', 'lib/context.c', 'lib/context.h',
           'lib/settings.c', 'lib/settings.h', 'lib/sim.c', 'lib/simulated.c',
           'lib/simulated.h', 'lib/heap/api.c'}
# Words of these higher layers that a folder or file uses all the same: the
# formulas and rules of the model are about collectives, and chains have an
# allreduce of their own. The symbols of types are hidden in the library.
NAMED_ANYWAY = {'lib/model': {'coll', 'group', 'topo'},
                'lib/type': {'group'},
                'lib/group/scan.c': {'coll'},
                'lib/group/chain_coll.h': {'coll'}}
COMMENT = r'//[^\n]*|/\*.*?\*/'
STRING = r'"(?:\\.|[^"\\\n])*"'
CHARACTER = r"'(?:\\.|[^'\\\n])*'"
SKIP = re.compile(f'{COMMENT}|{STRING}|{CHARACTER}', re.S)
TOKEN = re.compile(f'{COMMENT}|({STRING})|{CHARACTER}', re.S)


def blank(match):
    return re.sub(r'[^\n]', ' ', match.group(0))


def text_of(path):
    with open(path, encoding='utf-8') as file:
        return file.read()


def code_of(path):
    """A file without comments and strings, its lines kept."""
    return SKIP.sub(blank, text_of(path))


def of_page(path):
    """What stands in a manual page for a thing: words in bold, such as options,
    and identifiers with an underscore that is none of italics."""
    for number, line in enumerate(text_of(path).split('\n'), 1):
        for bold, name in re.findall(r'\*([^*]+)\*|([A-Za-z]+(?:_[A-Za-z0-9]+)+)',
                                     line.replace('\\', '')):
            yield number, name or re.sub(r'\W+', '_', bold)


def identifiers(path):
    if path.endswith('.scd'):
        yield from of_page(path)
        return
    for number, line in enumerate(code_of(path).split('\n'), 1):
        if not line.startswith('#include'):
            for name in re.findall(r'[A-Za-z_]\w*', line):
                yield number, name


def strings(path):
    """Strings that are names, not messages: without a space."""
    text = text_of(path)
    for match in TOKEN.finditer(text):
        value = match.group(1)
        if value and ' ' not in value:
            line = text.count('\n', 0, match.start())
            if not text.split('\n')[line].lstrip().startswith('#include'):
                yield line + 1, value[1:-1]


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


def layer_of(path):
    """The layer of a file, or of what is included; None: it is in none."""
    path = path[4:] if path.startswith('lib/') else path
    if path.startswith('split/call/'):
        return 'coll'  # beside it: the calls use barriers, and coll uses them
    folder = path.split('/')[0]
    return folder if folder in ORDER + ['boot'] else None


def includes(path, own):
    for number, line in enumerate(text_of(path).split('\n'), 1):
        found = re.match(r'#\s*include\s+"([^"]+)"', line)
        other = layer_of(found.group(1)) if found else None
        if other is None or other == own:
            continue
        if other == 'boot' or (own == 'boot' and other != 'core') or \
                (own != 'boot' and ORDER.index(other) > ORDER.index(own)):
            print(f'{path}:{number}: {own} includes {found.group(1)}')


def named(path, above, names, kind):
    for number, name in names:
        for layer in above:
            if kind == 'identifier' and layer.prefix and \
                    layer.prefix.match(name):
                print(f'{path}:{number}: {name} is of {layer.name}')
                break
            if layer.words & set(re.split(r'[_\W]+', name.lower())):
                print(f'{path}:{number}: {kind} "{name}" names what is of '
                      f'{layer.name}')
                break


def layers(paths):
    for path in paths:
        own = layer_of(path)
        if own is None or path in OUTSIDE:
            continue
        includes(path, own)
        known = set()
        for where, allowed in NAMED_ANYWAY.items():
            if path == where or path.startswith(where + '/'):
                known = allowed
        first = 0 if own == 'boot' else ORDER.index(own)
        above = [layer for layer in LAYERS[first + 1:]
                 if layer.name not in known]
        named(path, above, identifiers(path), 'identifier')
        named(path, above, strings(path), 'string')


def check_all(rules):
    """Apply all rules to the library; return 1 if one is violated."""
    files = subprocess.run(['git', 'ls-files', 'lib/*.[ch]',
                            'transports/*.[ch]'], check=True,
                           capture_output=True, text=True).stdout.split()
    pages = glob.glob('docs/man/*.scd')
    lines = io.StringIO()
    with contextlib.redirect_stdout(lines):
        for rule in rules.values():
            rule(files + pages if rule is words else files)
    print(lines.getvalue(), end='')
    return int(lines.getvalue() != '')


def main():
    rules = {'words': words, 'types': types, 'layers': layers}
    if len(sys.argv) == 1:
        sys.exit(check_all(rules))
    if len(sys.argv) < 3 or sys.argv[1] not in rules:
        sys.exit(__doc__)
    rules[sys.argv[1]](sys.argv[2:])


if __name__ == '__main__':
    main()
