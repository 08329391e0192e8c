#!/usr/bin/env python3
"""Shows that names.py refuses what it must: gives it small files with one
violation each. Prints a line for each that is not refused, or refused for
another reason.
"""
import contextlib
import io
import os
import sys
import tempfile

sys.dont_write_bytecode = True
import names  # noqa: E402

# Rule, files by path, and what a line of the result must contain (None: no
# result).
CASES = [
    # what is right passes
    ('layers', {'lib/exec/x.c': '#include "exec/exec.h"\n#include "heap/heap.h"\n'
                                '/* alltoall, topo */ int ctn_op_x;\n'}, None),
    ('layers', {'lib/coll/x.c': '#include "split/call/call.h"\n'
                                'int ctn_topo_x = 1; char *s = "alltoall";\n'},
     None),
    ('layers', {'lib/settings.c': '#include "coll/select/select.h"\n'}, None),
    ('layers', {'lib/exec/x.c': 'void f(void) { say("no group leader here"); }\n'},
     None),
    ('types', {'lib/a/x.c': 'typedef struct one {\n} one_t;\n',
               'lib/b/x.c': 'typedef struct two {\n} two_t;\n'}, None),
    ('words', {'lib/a/x.c': '/* a bell */ int doorbell;\n'}, None),
    ('words', {'docs/man/x.1.scd': 'a _bell_, a quick lane: *--lines*\n'}, None),
    ('words', {'docs/man/x.1.scd': 'CATENA_LANE\n'}, '"lane" is called "chain"'),
    ('words', {'docs/man/x.1.scd': '*--quick*: no\n'}, '"quick" is called'),
    # includes upwards, over all layers
    ('layers', {'lib/core/x.h': '#include "heap/heap.h"\n'}, 'core includes'),
    ('layers', {'lib/core/x.h': '#include "model/tuning.h"\n'}, 'core includes'),
    ('layers', {'lib/model/x.h': '#include "map/map.h"\n'}, 'model includes'),
    ('layers', {'lib/map/x.h': '#include "neighbor/neighborhood.h"\n'},
     'map includes'),
    ('layers', {'transports/shm/x.h': '#include "heap/heap.h"\n'},
     'transports includes'),
    ('layers', {'lib/heap/x.c': '#include "exec/exec.h"\n'}, 'heap includes'),
    ('layers', {'lib/exec/x.c': '#  include "group/group.h"\n'},
     'exec includes'),
    ('layers', {'lib/group/x.c': '#include "split/split.h"\n'},
     'group includes'),
    ('layers', {'lib/split/x.c': '#include "topo/topo.h"\n'}, 'split includes'),
    ('layers', {'lib/split/x.c': '#include "split/call/call.h"\n'},
     'split includes'),
    ('layers', {'lib/heap/x.c': '#include "type/op.h"\n'}, 'heap includes'),
    ('layers', {'lib/type/x.c': '#include "coll/blocks.h"\n'}, 'type includes'),
    ('layers', {'lib/coll/x.c': '#include "neighbor/neighborhood.h"\n'},
     'coll includes'),
    ('layers', {'lib/topo/x.c': '#include "boot/boot.h"\n'}, 'topo includes'),
    ('layers', {'lib/boot/x.c': '#include "heap/heap.h"\n'}, 'boot includes'),
    # names of higher layers: types, members, words, strings
    ('layers', {'lib/exec/x.c': 'void f(ctn_topo_t *at);\n'},
     'ctn_topo_t is of topo'),
    ('layers', {'lib/exec/x.h': 'struct x {\n    void *topo;\n};\n'},
     '"topo" names what is of topo'),
    ('layers', {'lib/exec/x.h': 'struct x {\n    int most_leaders;\n};\n'},
     '"most_leaders" names what is of topo'),
    ('layers', {'lib/exec/x.h': 'struct x {\n    struct y *groups;\n};\n'},
     '"groups" names what is of group'),
    ('layers', {'lib/core/x.c': 'char *a[] = {"auto", "bruck"};\n'},
     '"bruck" names what is of coll'),
    ('layers', {'lib/core/x.c': 'char *a = "ALLTOALL_LEADERS";\n'},
     'names what is of topo'),
    ('layers', {'lib/core/x.h': 'struct x {\n    char *alltoall;\n};\n'},
     '"alltoall" names what is of coll'),
    ('layers', {'lib/core/x.c': 'int x = CTN_ALLTOALL_SIZE;\n'},
     'names what is of coll'),
    ('layers', {'lib/exec/x.c': 'enum { HIERARCHY };\n'},
     '"HIERARCHY" names what is of coll'),
    ('layers', {'lib/coll/x.c': 'ctn_link_out_t x;\n'}, 'is of neighbor'),
    # a type in two files
    ('types', {'lib/a/x.c': 'typedef struct one {\n} one_t;\n',
               'lib/b/x.c': 'typedef struct two {\n} one_t;\n'},
     'one_t is defined in'),
    ('types', {'lib/a/x.c': 'struct one {\n};\n',
               'lib/b/x.c': 'struct one {\n};\n'}, 'struct one is defined in'),
    ('types', {'lib/a/x.c': 'typedef int one_t;\n',
               'lib/b/x.c': 'typedef long one_t;\n'}, 'one_t is defined in'),
]
# Each old identifier, as a function, a member and a constant.
for word in names.WORDS:
    CASES += [('words', {'lib/a/x.c': f'int ctn_{word}_open(void);\n'}, word),
              ('words', {'lib/a/x.h': f'struct x {{\n    int {word};\n}};\n'},
               word),
              ('words', {'lib/a/x.h': f'enum {{ MOST_{word.upper()} }};\n'},
               word)]
for name in names.NAMES:
    CASES.append(('words', {'lib/a/x.c': f'{name} *x;\n'}, name))


def result_of(rule, files):
    for path, text in files.items():
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        getattr(names, rule)(list(files))
    return out.getvalue()


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for rule, files, expected in CASES:
            result = result_of(rule, files)
            right = expected in result if expected else result == ''
            if not right:
                print(f'{rule}: {files}: expected {expected}, found {result!r}')
        os.chdir('/')


if __name__ == '__main__':
    main()
