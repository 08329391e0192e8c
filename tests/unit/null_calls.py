"""Calls of every public function with one pointer NULL at a time, as C; and of
functions that free, with a NULL handle. Fails if a collective of calls.def has
an entry point without such a call.

usage: null_calls.py CALLS_DEF HEADER... > null_calls.h
The values of all other arguments are members of null_t in test_arguments.c."""

import re
import sys

# Where NULL has a meaning: nothing is refused.
OPTIONAL = {
    'catena_init': ['config'],
    'catena_group_split_string': ['color'],
    'catena_realloc': ['block'],
    'catena_free': ['block'],
    'catena_op_create': ['argument'],
    'catena_group_failed': ['ranks'],
    'catena_get_address': ['location'],
    'catena_sim_run': ['argument', 'report'],
    'catena_compare_int64': ['a', 'b', 'argument'],
    'catena_neighborhood_neighbors': ['source_weights', 'target_weights'],
    'catena_request_describe': ['request'],
    'catena_sparse_exchange': ['offsets'],
}
ALWAYS_OPTIONAL = r'(source_|target_|)weights|info|statuses'
# Do not return, or have nothing that can be NULL; abort has a test of its own.
SKIPPED = ['catena_abort', 'catena_version', 'catena_status_string',
           'catena_last_error']
# By name, then by type; the rest are members of null_t called as the type is.
VALUES = {
    'catena_neighborhood_set name': '"algorithm"', 'name': '"hpc-b"',
    'catena_group_set name': '"alltoall_algorithm"', 'value': '"auto"',
    'catena_neighborhood_explain collective': '"neighbor_alltoall"',
    'catena_neighborhood_estimate collective': '"neighbor_alltoall"',
    'collective': '"alltoall"', 'color': '"red"', 'dims': 'n->one_each',
    'periods': 'n->one_each', 'degrees': 'n->one_each',
    'remain': 'n->one_each', 'catena_dims_create dims': 'n->numbers',
    'most': '1', 'most_sources': '1', 'most_targets': '1',
    'ranks': '1', 'count': '1', 'source_count': '1', 'target_count': '1',
    'catena_neighborhood_counts source_count': '&n->number',
    'catena_neighborhood_counts target_count': '&n->number',
    'ndims': '1', 'catena_cart_ndims ndims': '&n->number', 'ndirs': '1',
    'send': 'n->send', 'recv': 'n->recv', 'buffer': 'n->recv',
    'block': 'n->block', 'a_bytes': '8', 'b_bytes': '8', 'alignment': '64',
    'int64_t color': '1', 'int color': '1',
    'catena_cart_get dims': 'n->numbers', 'catena_cart_get periods':
    'n->numbers', 'catena_cart_get coords': 'n->numbers',
    'catena_cart_coords coords': 'n->numbers',
    'catena_type_indexed displacements': 'n->zeros',
    'catena_type_hindexed displacements': 'n->zeros',
    'catena_type_indexed_block displacements': 'n->zeros',
    'catena_type_hindexed_block displacements': 'n->zeros',
    'catena_type_struct displacements': 'n->zeros',
    'starts': 'n->nothing', 'catena_group_world_ranks ranks': '&n->list',
    'catena_group_translate_ranks ranks': 'n->zero_each',
    'catena_group_create ranks': 'n->zero_each',
    'catena_group_failed ranks': 'n->numbers',
    'catena_group_failed count': '&n->size',
    'size_t': '1', 'int': '0', 'int64_t': '0', 'uint64_t': '0',
    'ptrdiff_t': '4', 'double': '0', 'FILE *': 'n->stream',
    'catena_level_t': 'CATENA_LEVEL_NODE', 'catena_order_t': 'CATENA_ORDER_C',
    'catena_type_t': 'CATENA_INT32', 'catena_op_t': 'CATENA_SUM',
    'const catena_type_t []': 'n->types', 'catena_type_t *': '&n->type',
    'const size_t []': 'n->ones', 'const size_t *': 'n->ones',
    'const ptrdiff_t *': 'n->zeros',
    'const catena_type_t *': 'n->types',
    'const ptrdiff_t []': 'n->zeros', 'const int []': 'n->zero_each',
    'int *': '&n->number', 'int []': 'n->numbers', 'size_t *': '&n->size',
    'uint64_t *': '&n->offset', 'double *': '&n->real', 'char *': 'n->text',
    'ptrdiff_t *': '&n->size_signed', 'const void *': 'n->send',
    'void *': 'n->recv', 'void **': '&n->pointer', 'catena_op_t *': '&n->op',
    'catena_op_function_t': 'n->function',
    'catena_sim_program_t': 'n->program',
    'const catena_context_t *': 'n->context',
    'catena_received_t **': '&n->received',
    'catena_context_t *': 'n->context', 'catena_context_t **': '&n->second',
    'const catena_config_t *': 'NULL', 'catena_place_t *': '&n->place',
    'const catena_group_t *': 'n->world', 'catena_group_t *': 'n->world',
    'catena_group_t **': '&n->group', 'const catena_split_t *': '&n->split',
    'catena_group_stats_t *': '&n->group_stats',
    'catena_request_t **': '&n->request', 'catena_request_t *': 'n->persistent',
    'const catena_request_t *': 'n->persistent',
    'catena_request_t *[]': '&n->request',
    'size_t []': '&n->size', 'catena_status_t []': '&n->status',
    'catena_heap_stats_t *': '&n->heap_stats',
    'catena_machine_t **': '&n->opened', 'catena_machine_t *': 'n->machine',
    'const catena_machine_t *': 'n->machine',
    'const catena_model_point_t *': '&n->point',
    'const catena_neighborhood_info_t *': '&n->info',
    'catena_neighborhood_t *': 'n->cart',
    'const catena_neighborhood_t *': 'n->cart',
    'catena_neighborhood_t **': '&n->neighborhood',
    'catena_neighborhood_stats_t *': '&n->neighbor_stats',
    'const catena_sim_params_t *': '&n->params',
    'catena_accumulator_t *': '&n->accumulator',
    'const catena_accumulator_t *': '&n->accumulator',
    'section': '"work"', 'catena_machine_get name': '"call_ns"',
    'const double *': '&n->real', 'double * value': '&n->real',
    'const float *': '&n->single', 'float * value': '&n->single',
    'catena_sim_report_t *': '&n->report', 'catena_sim_stats_t *': '&n->stats',
}
NEUTRAL = {'int': 'SAYS', 'size_t': 'SAYS', 'double': 'SAYS', 'void': 'RUNS'}


def arguments(text):
    """[(type, name)] of a list of parameters."""
    found = []
    for part in text.split(','):
        kind, name, array = re.fullmatch(
            r'\s*(.*?)(\w+)\s*(\[\])?\s*', part).groups()
        kind = re.sub(r'\s+', ' ', kind).strip()
        found.append((kind + (' []' if array and '*' not in kind else
                              array or ''), name))
    return found


def value(function, kind, name):
    for key in (f'{function} {name}', f'{kind} {name}', name, kind):
        if key in VALUES:
            return VALUES[key]
    sys.exit(f'{function}: no value for {kind} {name}')


def is_pointer(kind):
    return '*' in kind or '[]' in kind or kind in (
        'catena_type_t', 'catena_op_t', 'catena_op_function_t',
        'catena_sim_program_t')


def entry_points(calls_def):
    """The functions of all collectives."""
    names = re.findall(r'^CTN_[A-Z]+\(\w+, (\w+),', open(calls_def).read(), re.M)
    return {form.format(name) for name in names
            for form in ('catena_{}', 'catena_i{}', 'catena_{}_init')}


def main():
    text = ''.join(open(header).read() for header in sys.argv[2:])
    text = re.sub(r'/\*.*?\*/|^#.*?(?<!\\)$', ' ', text, flags=re.S | re.M)
    cases = []
    for result, function, inside in re.findall(
            r'CATENA_API\s+([\w\s*]*?)\s*(catena_\w+)\s*\(([^;]*)\);', text):
        if function in SKIPPED:
            continue
        print(f'static void {function}_null(null_t *n)\n{{')
        given = arguments(inside)
        values = [value(function, *argument) for argument in given]
        for i, (kind, name) in enumerate(given):
            if not is_pointer(kind):
                continue
            call = ', '.join(values[:i] + ['NULL'] + values[i + 1:])
            call = f'{function}({call})'
            how = NEUTRAL.get(result, 'GIVES_NULL' if '*' in result
                              else 'REFUSES')
            if name in OPTIONAL.get(function, []) or \
                    re.fullmatch(ALWAYS_OPTIONAL, name):
                how = 'RUNS'
            print(f'    {how}(n, "{name}", {call});')
        if re.fullmatch(r'catena_\w*(_free|_close|finalize)', function):
            kind = given[0][0].removesuffix('*').strip()
            print(f'    {kind} none = NULL;\n'
                  f'    ACCEPTS(n, {function}(&none));')
        print('}\n')
        cases.append(function)
    lacks = entry_points(sys.argv[1]) - set(cases)
    if lacks:
        sys.exit(f'not called with NULL: {", ".join(sorted(lacks))}')
    print('static const struct {\n    const char *name;\n'
          '    void (*run)(null_t *n);\n} null_calls[] = {')
    for function in cases:
        print(f'    {{"{function}", {function}_null}},')
    print('};')


main()
