/* The cases of collectives. */

#include "oracle/case.h"

#include <stdio.h>
#include <string.h>

#include "oracle/random.h"

enum { MOST_ALGORITHMS = 12, HIERARCHIES = 6, MOST_BASES = 6000 };

/** The collective whose settings select hierarchy and algorithm. */
static const oracle_kind_t settings[ORACLE_KINDS] = {
#define CTN_CALL(NAME, ...) ORACLE_##NAME,
#define CTN_VARIANT(NAME, name, OF, ...) ORACLE_##OF,
#define CTN_ALLTOALL(NAME, ...) ORACLE_ALLTOALL,
#include "core/calls.def"
};

/** Values of "<collective>_algorithm" besides auto, of all components. */
static const char *const algorithms[ORACLE_KINDS][MOST_ALGORITHMS] = {
    [ORACLE_BARRIER] = {"flat", "root", "dissemination", "recursive-doubling",
                        "tree", "binomial", "chain", "linear"},
    [ORACLE_BCAST] = {"staged", "zero-copy", "binomial", "chain", "linear"},
    [ORACLE_REDUCE] = {"flat", "shared", "staged", "zero-copy", "binomial",
                       "chain", "linear", "tree"},
    [ORACLE_ALLREDUCE] = {"staged", "zero-copy", "flat", "shared", "last",
                          "binomial", "chain", "linear", "recursive-doubling",
                          "rabenseifner", "tree"},
    [ORACLE_GATHER] = {"staged", "zero-copy", "binomial", "linear", "tree"},
    [ORACLE_SCATTER] = {"staged", "zero-copy", "binomial", "linear", "tree"},
    [ORACLE_ALLGATHER] = {"staged", "zero-copy", "binomial", "chain", "linear",
                          "bruck", "ring", "tree"},
    [ORACLE_REDUCE_SCATTER] = {"flat", "shared", "staged", "zero-copy",
                               "binomial", "chain", "linear",
                               "recursive-halving", "ring", "tree"},
    [ORACLE_SCAN] = {"staged", "zero-copy", "flat", "shared", "chain",
                     "binomial", "linear", "recursive-doubling"},
    [ORACLE_ALLTOALL] = {"direct", "shift", "bruck", "morton", "l-a2a", "mpml",
                         "nmpml", "onmpml", "l-a2a-plain", "mpml-plain",
                         "nmpml-plain"},
};

static const char *const hierarchies[HIERARCHIES] = {
    "auto",
    "node:shm,network:p2p",
    "network:p2p",
    "numa:shm,node:shm,network:p2p",
    "l3:p2p,socket:shm,node:p2p,network:ucx",
    "user:p2p,network:p2p",
};

static const char *const parameters[ORACLE_PARAMETERS] = {"leaders", "radix",
                                                          "window"};
static const char *const parameter_values[ORACLE_PARAMETERS][HIERARCHIES] = {
    {"auto", "1", "2", "5", "3", "4"},
    {"auto", "2", "3", "7", "65536", "4"},
    {"auto", "1", "2", "5", "32", "3"}};

const char *oracle_setting_name(unsigned kind)
{
    return oracle_kind_name(settings[kind]);
}

unsigned oracle_algorithms(unsigned kind)
{
    unsigned count = 1;
    while (count < MOST_ALGORITHMS &&
           algorithms[settings[kind]][count - 1] != NULL) {
        count++;
    }
    return count;
}

const char *oracle_algorithm_name(unsigned kind, unsigned algorithm)
{
    return algorithm == 0 ? "auto" : algorithms[settings[kind]][algorithm - 1];
}

const char *oracle_hierarchy_name(unsigned hierarchy)
{
    return hierarchies[hierarchy];
}

const char *oracle_parameter_name(unsigned parameter)
{
    return parameters[parameter];
}

const char *oracle_parameter_value(unsigned parameter, unsigned hierarchy)
{
    return parameter_values[parameter][hierarchy];
}

bool oracle_has_levels(unsigned kind)
{
    return !oracle_pairs(kind) || kind == ORACLE_ALLTOALL;
}

bool oracle_by_network(const oracle_case_t *c)
{
    return oracle_has_levels(c->value[ORACLE_KIND]) &&
           strstr(hierarchies[c->value[ORACLE_HIERARCHY]], "ucx") != NULL;
}

void oracle_describe(const oracle_case_t *c, char *text, size_t bytes)
{
    const uint8_t *v = c->value;
    static const char *const modes[] = {"", "i", "init "};
    static const char *const roots[] = {"first", "last", "middle"};
    static const char *const groups[] = {"", " turned", " dealt"};
    static const char *const counts[] = {"mixed", "sparse", "hub", "one"};
    char by[128] = "";
    unsigned h = v[ORACLE_HIERARCHY];
    if (oracle_has_levels(v[ORACLE_KIND])) {
        snprintf(by, sizeof(by), "hierarchy=%s", hierarchies[h]);
    }
    if (oracle_pairs(v[ORACLE_KIND])) {
        size_t used = strlen(by);
        snprintf(by + used, sizeof(by) - used,
                 "%sleaders=%s radix=%s window=%s", used > 0 ? " " : "",
                 parameter_values[0][h], parameter_values[1][h],
                 parameter_values[2][h]);
    }
    snprintf(text, bytes,
             "%s%s algorithm=%s %s%s%s type=\"%s\"%s op=%s size=%u counts=%s "
             "root=%s memory=%u",
             modes[v[ORACLE_MODE]], oracle_kind_name(v[ORACLE_KIND]),
             oracle_algorithm_name(v[ORACLE_KIND], v[ORACLE_ALGORITHM]), by,
             groups[v[ORACLE_GROUP]],
             v[ORACLE_PLACE] == ORACLE_IN_PLACE ? " in-place" : "",
             oracle_type_name(v[ORACLE_TYPE]),
             oracle_element_name(v[ORACLE_ELEMENT]),
             oracle_op_name(v[ORACLE_OP]), v[ORACLE_SIZE],
             counts[v[ORACLE_COUNTS]], roots[v[ORACLE_ROOT]], v[ORACLE_MEMORY]);
}

/** Limits are approached from below and above. */
size_t oracle_elements_of(const oracle_case_t *c)
{
    static const size_t few[] = {0, 1, 7};
    static const size_t vector[ORACLE_SIZES] = {
        0,     0,     0,     56,    57,     2048,   2049,  32768,
        32769, 65536, 65537, 70000, 100000, 131072, 163841};
    static const size_t pair[ORACLE_SIZES] = {
        0, 0, 0, 8, 112, 113, 1000, 3000, 8192, 8193, 20000, 40000, 300000};
    unsigned size = c->value[ORACLE_SIZE];
    size_t unit = oracle_unit_bytes(c->value[ORACLE_TYPE]);
    size_t bytes =
        oracle_pairs(c->value[ORACLE_KIND]) ? pair[size] : vector[size];
    return size < 3 ? few[size] : (bytes + unit - 1) / unit;
}

/* ---- valid combinations ---- */

static bool is_valid(const oracle_case_t *c)
{
    const uint8_t *v = c->value;
    unsigned kind = v[ORACLE_KIND];
    bool reduces = oracle_reduces(kind);
    bool barrier = kind == ORACLE_BARRIER;
    if (v[ORACLE_ALGORITHM] >= oracle_algorithms(kind) ||
        reduces != (v[ORACLE_OP] != ORACLE_NO_OP) ||
        (reduces && !oracle_op_takes(v[ORACLE_OP], v[ORACLE_TYPE])) ||
        (v[ORACLE_PLACE] == ORACLE_IN_PLACE &&
         (barrier || kind == ORACLE_BCAST)) ||
        (v[ORACLE_ROOT] != ORACLE_FIRST && !oracle_rooted(kind)) ||
        (v[ORACLE_COUNTS] != ORACLE_MIXED && !oracle_own_counts(kind)) ||
        (v[ORACLE_MEMORY] >= ORACLE_ODD && reduces) ||
        (v[ORACLE_ELEMENT] != ORACLE_PLAIN && !reduces) ||
        (v[ORACLE_SIZE] >= ORACLE_LONG && oracle_has_blocks(kind))) {
        return false;
    }
    return !barrier || (v[ORACLE_TYPE] == 0 && v[ORACLE_SIZE] == 0 &&
                        v[ORACLE_MEMORY] == 0);
}

void oracle_repair(oracle_case_t *c)
{
    uint8_t *v = c->value;
    if (v[ORACLE_KIND] == ORACLE_BARRIER) {
        v[ORACLE_SIZE] = v[ORACLE_MEMORY] = 0;
    }
    if (!oracle_rooted(v[ORACLE_KIND])) {
        v[ORACLE_ROOT] = ORACLE_FIRST;
    }
    if (!oracle_own_counts(v[ORACLE_KIND])) {
        v[ORACLE_COUNTS] = ORACLE_MIXED;
    }
    if (oracle_reduces(v[ORACLE_KIND])) {
        v[ORACLE_MEMORY] %= ORACLE_ODD;
    } else {
        v[ORACLE_ELEMENT] = ORACLE_PLAIN;
    }
    if (oracle_has_blocks(v[ORACLE_KIND])) {
        v[ORACLE_SIZE] %= ORACLE_LONG;
    }
}

/** Operation and kind change together or not at all. */
static void follow(oracle_case_t *c, unsigned factor, unsigned keep,
                   uint64_t *random)
{
    if (factor == ORACLE_KIND && (keep >> ORACLE_OP & 1) == 0) {
        c->value[ORACLE_OP] =
            oracle_reduces(c->value[ORACLE_KIND])
                ? (uint8_t)(1 + ctn_random_below(random, ORACLE_OPS - 1))
                : ORACLE_NO_OP;
    }
}

/** A type that supports an operation. */
static uint8_t type_for(unsigned op)
{
    uint8_t type = 0;
    while (op != ORACLE_NO_OP && !oracle_op_takes(op, type)) {
        type++;
    }
    return type;
}

/** List every collective with every algorithm and every value of `factor`,
 * without invalid combinations.
 * @param twice also list reductions with an operation that does not commute */
static size_t list_ways(oracle_way_t *way, unsigned factor, unsigned values,
                        bool twice)
{
    const unsigned keep =
        1u << ORACLE_KIND | 1u << ORACLE_ALGORITHM | 1u << factor;
    size_t count = 0;
    for (unsigned kind = 0; kind < ORACLE_KINDS; kind++) {
        unsigned ways = oracle_algorithms(kind) * values;
        bool reduces = oracle_reduces(kind);
        bool keeps = reduces && twice;
        for (unsigned i = 0; i < (keeps ? 2 * ways : ways); i++) {
            unsigned op = !reduces    ? ORACLE_NO_OP
                          : i >= ways ? ORACLE_ORDERED
                                      : 1 + i % (twice ? ORACLE_COMMUTING
                                                       : ORACLE_ORDERED);
            oracle_case_t c = {
                .value = {[ORACLE_KIND] = (uint8_t)kind,
                          [ORACLE_ALGORITHM] = (uint8_t)(i % ways / values),
                          [ORACLE_OP] = (uint8_t)op,
                          [ORACLE_TYPE] =
                              i >= ways ? ORACLE_TRIPLE : type_for(op)}};
            c.value[factor] = (uint8_t)(i % values);
            if (is_valid(&c)) {
                way[count++] =
                    (oracle_way_t){c, keep | (keeps ? 1u << ORACLE_OP : 0)};
            }
        }
    }
    return count;
}

/** Kind, type, operation and element may contradict each other; value 0 is
 * valid with all values of the other factors. */
static size_t list_bases(oracle_case_t *base)
{
    size_t count = 0;
    enum { ALL = ORACLE_KINDS * ORACLE_TYPES * ORACLE_OPS };
    for (unsigned i = 0; i < ALL * ORACLE_ELEMENT_VALUES; i++) {
        unsigned rest = i / ORACLE_ELEMENT_VALUES;
        oracle_case_t c = {
            .value = {
                [ORACLE_ELEMENT] = (uint8_t)(i % ORACLE_ELEMENT_VALUES),
                [ORACLE_OP] = (uint8_t)(rest % ORACLE_OPS),
                [ORACLE_TYPE] = (uint8_t)(rest / ORACLE_OPS % ORACLE_TYPES),
                [ORACLE_KIND] = (uint8_t)(rest / ORACLE_OPS / ORACLE_TYPES)}};
        if (is_valid(&c) && count < MOST_BASES) {
            base[count++] = c;
        }
    }
    return count;
}

const oracle_space_t *oracle_space(void)
{
    static oracle_case_t base[MOST_BASES];
    static oracle_way_t way[2 * ORACLE_KINDS * MOST_ALGORITHMS * HIERARCHIES];
    static oracle_way_t more[ORACLE_KINDS * MOST_ALGORITHMS * ORACLE_SIZES];
    static oracle_space_t space = {
        .factors = ORACLE_COLL_FACTORS,
        .values = {[ORACLE_KIND] = ORACLE_KINDS,
                   [ORACLE_ALGORITHM] = MOST_ALGORITHMS,
                   [ORACLE_HIERARCHY] = HIERARCHIES,
                   [ORACLE_GROUP] = ORACLE_GROUPS,
                   [ORACLE_MODE] = ORACLE_MODES,
                   [ORACLE_PLACE] = ORACLE_PLACES,
                   [ORACLE_TYPE] = ORACLE_TYPES,
                   [ORACLE_OP] = ORACLE_OPS,
                   [ORACLE_SIZE] = ORACLE_SIZES,
                   [ORACLE_COUNTS] = ORACLE_COUNTS_VALUES,
                   [ORACLE_ROOT] = ORACLE_ROOTS,
                   [ORACLE_MEMORY] = ORACLE_MEMORIES,
                   [ORACLE_ELEMENT] = ORACLE_ELEMENT_VALUES},
        .valid = is_valid,
        .base = base,
        .way = way,
        .more = more,
        .follow = follow};
    if (space.bases == 0) {
        /* The hierarchy selects the components. Only noncommutative operations
         * reveal the order of ranks, but some algorithms do not support them.
         * So reductions are listed twice. */
        space.ways = list_ways(way, ORACLE_HIERARCHY, HIERARCHIES, true);
        space.mores = list_ways(more, ORACLE_SIZE, ORACLE_SIZES, false);
        space.bases = list_bases(base);
    }
    return &space;
}

void oracle_draw(oracle_case_t *c, unsigned kind, bool network,
                 uint64_t *random)
{
    const oracle_space_t *space = oracle_space();
    do {
        *c = (oracle_case_t){{0}};
        for (unsigned f = 0; f < space->factors; f++) {
            c->value[f] = (uint8_t)ctn_random_below(random, space->values[f]);
        }
        c->value[ORACLE_KIND] = (uint8_t)kind;
        if (!oracle_reduces(kind)) {
            c->value[ORACLE_OP] = ORACLE_NO_OP;
        }
        oracle_repair(c);
    } while (!is_valid(c) || (!network && oracle_by_network(c)));
}
