/* Reproducible reductions. The expected bits are those of the balanced tree of
 * ranks, and for scans of adding one rank after the other, computed here: so
 * they depend on the number of ranks only, whatever layout, algorithm,
 * hierarchy, length and memory. Magnitudes vary so widely that another order
 * gives other bits, which a control case shows. */

#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ranks/helpers/rank_test.h"

enum { MOST_COUNT = 40000, MOST_RANKS = 256, MODES = 3 };

typedef enum kind {
    REDUCE,
    ALLREDUCE,
    SCATTER,
    SCATTER_BLOCK,
    SCAN,
    EXSCAN,
    KINDS
} kind_t;

static const char *const names[KINDS] = {
    "reduce", "allreduce", "reduce_scatter", "reduce_scatter_block",
    "scan",   "exscan"};
/* Whose settings apply. */
static const char *const settings[KINDS] = {
    "reduce", "allreduce", "reduce_scatter", "reduce_scatter", "scan", "scan"};

/** How a reduction runs. NULL: auto. */
static const struct {
    const char *hierarchy;
    const char *algorithm[KINDS];
} ways[] = {
    {"auto", {NULL}},
    {"auto", {"flat", "flat", "ring", "ring", "flat", "flat"}},
    {"auto", {"shared", "shared", NULL, NULL, "chain", "chain"}},
    {"auto", {"chain", "last", NULL, NULL, NULL, NULL}},
    {"network:p2p",
     {"binomial", "recursive-doubling", "ring", "ring", "recursive-doubling",
      "chain"}},
    {"network:p2p", {"linear", "rabenseifner", NULL}},
    {"network:p2p", {"chain", "tree", NULL}},
    {"node:shm,network:p2p", {NULL, "tree", "ring", NULL}},
    {"numa:shm,node:shm,network:p2p", {NULL}},
    {"node:p2p,network:p2p", {"linear", "rabenseifner"}},
    /* two and two ranks, whatever their nodes */
    {"user:p2p,network:p2p", {"chain", "rabenseifner", "recursive-halving"}},
    {"user:p2p,network:p2p", {"binomial", "recursive-doubling", "ring"}},
};
enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

static const struct {
    catena_type_t type;
    size_t parts; /* floating-point numbers of an element */
    bool single;  /* of single precision */
} types[] = {{CATENA_DOUBLE, 1, false},
             {CATENA_FLOAT, 1, true},
             {CATENA_COMPLEX_DOUBLE, 2, false},
             {CATENA_COMPLEX_FLOAT, 2, true}};

/** One reduction. */
typedef struct reduction {
    rank_test_t *test;
    catena_group_t *group;
    kind_t kind;
    int type; /* index in types */
    bool prod;
    bool in_place;
    int mode; /* blocking, nonblocking, persistent */
    rank_memory_t memory;
    int root;
    size_t count; /* elements of a vector, of all blocks together */
    bool gaps;    /* the elements are every second one of the buffer */
} reduction_t;

static size_t element_bytes(const reduction_t *r)
{
    return types[r->type].parts * (types[r->type].single ? 4 : 8);
}

/** Part `part` of element i of a rank: magnitudes of a sum range over 2^60,
 * those of a product are near 1. */
static double value_of(const reduction_t *r, int rank, size_t i, size_t part)
{
    uint64_t bits = rank_hash((uint64_t)rank, 2 * part + r->prod, i);
    double mantissa = 1 + (double)(bits >> 12) * 0x1p-52;
    int exponent = r->prod ? 0 : (int)(bits % 61) - 30;
    double value = ldexp(mantissa, exponent) * (bits & 64 ? -1 : 1);
    return types[r->type].single ? (double)(float)value : value;
}

/** left = left op right, in the precision of the type. */
#define COMBINE(real, left, right)                                             \
    do {                                                                       \
        real a = (real)(left)[0], b = (real)(left)[1];                         \
        real c = (real)(right)[0], d = (real)(right)[1];                       \
        if (!r->prod) {                                                        \
            (left)[0] = (real)(a + c);                                         \
            (left)[1] = (real)(b + d);                                         \
        } else if (types[r->type].parts == 1) {                                \
            (left)[0] = (real)(a * c);                                         \
        } else {                                                               \
            real ac = a * c, bd = b * d, ad = a * d, bc = b * c;               \
            (left)[0] = (real)(ac - bd);                                       \
            (left)[1] = (real)(ad + bc);                                       \
        }                                                                      \
    } while (0)

static void combine(const reduction_t *r, double left[2], const double right[2])
{
    if (types[r->type].single) {
        COMBINE(float, left, right);
    } else {
        COMBINE(double, left, right);
    }
}

/** The balanced tree of the first elements of `value`. The first ones are
 * combined in pairs, as few as leave a power of two; then neighbors, round
 * after round. */
static void combine_tree(const reduction_t *r, double (*value)[2], int count)
{
    int power = 1;
    while (2 * power <= count) {
        power *= 2;
    }
    for (int pairs = count - power; count > 1; pairs = count / 2) {
        for (int i = 0; i < count - pairs; i++) {
            int from = i < pairs ? 2 * i : i + pairs;
            memcpy(value[i], value[from], sizeof(*value));
            if (i < pairs) {
                combine(r, value[i], value[from + 1]);
            }
        }
        count -= pairs;
    }
}

/** Element i of the reduction of ranks 0 to end - 1. */
static void expect(const reduction_t *r, int end, size_t i,
                   unsigned char element[16])
{
    double value[MOST_RANKS][2];
    double *sum = value[0];
    bool scan = r->kind == SCAN || r->kind == EXSCAN;
    for (int rank = 0; rank < end; rank++) {
        value[rank][0] = value_of(r, rank, i, 0);
        value[rank][1] = value_of(r, rank, i, 1);
    }
    for (int rank = 1; scan && rank < end; rank++) {
        combine(r, sum, value[rank]);
    }
    if (!scan) {
        combine_tree(r, value, end);
    }
    float single[2] = {(float)sum[0], (float)sum[1]};
    const void *from = types[r->type].single ? (void *)single : (void *)sum;
    memcpy(element, from, element_bytes(r));
}

static void fill(const reduction_t *r, unsigned char *out)
{
    size_t each = element_bytes(r) * (r->gaps ? 2 : 1);
    for (size_t i = 0; i < r->count; i++) {
        double part[2] = {value_of(r, r->test->place.rank, i, 0),
                          value_of(r, r->test->place.rank, i, 1)};
        float single[2] = {(float)part[0], (float)part[1]};
        const void *from =
            types[r->type].single ? (void *)single : (void *)part;
        memcpy(out + i * each, from, element_bytes(r));
    }
}

/** The first element of this rank's result in the vector, and the number. */
static void part_of(const reduction_t *r, const size_t *counts, size_t *first,
                    size_t *count)
{
    bool scatters = r->kind == SCATTER || r->kind == SCATTER_BLOCK;
    *first = 0;
    for (int i = 0; scatters && i < r->test->place.rank; i++) {
        *first += counts[i];
    }
    *count = scatters ? counts[r->test->place.rank] : r->count;
}

/** Number of ranks whose data are in this rank's result. */
static int operands_of(const reduction_t *r)
{
    int rank = r->test->place.rank;
    return r->kind == REDUCE   ? (rank == r->root ? r->test->place.ranks : 0)
           : r->kind == SCAN   ? rank + 1
           : r->kind == EXSCAN ? rank
                               : r->test->place.ranks;
}

#define CALL(name, ...)                                                        \
    (r->mode == 0   ? catena_##name(__VA_ARGS__, r->group)                     \
     : r->mode == 1 ? catena_i##name(__VA_ARGS__, r->group, request)           \
                    : catena_##name##_init(__VA_ARGS__, r->group, request))

static catena_status_t call(const reduction_t *r, const void *in, void *out,
                            const size_t *counts, catena_type_t type,
                            catena_request_t **request)
{
    catena_op_t op = r->prod ? CATENA_PROD : CATENA_SUM;
    switch (r->kind) {
    case REDUCE:
        return CALL(reduce, in, out, r->count, type, op, r->root);
    case ALLREDUCE:
        return CALL(allreduce, in, out, r->count, type, op);
    case SCATTER:
        return CALL(reduce_scatter, in, out, counts, type, op);
    case SCATTER_BLOCK:
        return CALL(reduce_scatter_block, in, out, counts[0], type, op);
    case SCAN:
        return CALL(scan, in, out, r->count, type, op);
    default:
        return CALL(exscan, in, out, r->count, type, op);
    }
}

/** Run a reduction. @return the number of elements with other bits */
static size_t differences(const reduction_t *r)
{
    rank_test_t *test = r->test;
    size_t element = element_bytes(r);
    size_t each = element * (r->gaps ? 2 : 1);
    size_t *counts = calloc((size_t)test->place.ranks, sizeof(*counts));
    unsigned char *in = rank_take(test, r->memory, r->count * each);
    unsigned char *out = rank_take(test, r->memory, r->count * each);
    catena_request_t *request = NULL;
    catena_type_t type = types[r->type].type;
    size_t first, count, wrong = 0;
    for (size_t i = 0, ranks = (size_t)test->place.ranks; i < ranks; i++) {
        counts[i] = r->kind == SCATTER
                        ? r->count * (i + 1) * (i + 1) / (ranks * ranks) -
                              r->count * i * i / (ranks * ranks)
                        : r->count / ranks;
    }
    part_of(r, counts, &first, &count);
    fill(r, in);
    bool in_place = r->in_place && (r->kind != REDUCE || operands_of(r) > 0);
    if (in_place) {
        memcpy(out, in, r->count * each);
    }
    if (r->gaps) {
        RANK_CHECK(test, catena_type_resized(type, 0, (ptrdiff_t)each, &type) ==
                             CATENA_OK);
    }
    RANK_CHECK(test, call(r, in_place ? CATENA_IN_PLACE : in, out, counts, type,
                          &request) == CATENA_OK);
    if (r->mode == 2) {
        RANK_CHECK(test, catena_request_start(request) == CATENA_OK);
    }
    if (r->mode > 0) {
        RANK_CHECK(test, catena_request_wait(&request) == CATENA_OK);
    }
    if (r->mode == 2) {
        RANK_CHECK(test, catena_request_free(&request) == CATENA_OK);
    }
    for (size_t i = 0; operands_of(r) > 0 && i < count; i++) {
        unsigned char expected[16];
        expect(r, operands_of(r), first + i, expected);
        wrong += memcmp(out + i * each, expected, element) != 0;
    }
    if (r->gaps) {
        RANK_CHECK(test, catena_type_free(&type) == CATENA_OK);
    }
    rank_give(test, r->memory, in);
    rank_give(test, r->memory, out);
    free(counts);
    return wrong;
}

static void set(const reduction_t *r, const char *name, const char *value)
{
    RANK_CHECK(r->test,
               catena_group_set(r->group, name,
                                value != NULL ? value : "auto") == CATENA_OK);
}

static void set_way(const reduction_t *r, int way)
{
    char name[64];
    snprintf(name, sizeof(name), "%d", r->test->place.rank / 2);
    set(r, "subgroup", name);
    set(r, "hierarchy", ways[way].hierarchy);
    snprintf(name, sizeof(name), "%s_algorithm", settings[r->kind]);
    set(r, name, ways[way].algorithm[r->kind]);
}

/** Draw the rest of a case, the same on all ranks. */
static void draw(reduction_t *r, uint64_t number)
{
    static const size_t lengths[] = {1, 2, 17, 64, 512, 1500, 9000, MOST_COUNT};
    uint64_t drawn = rank_hash(rank_seed(1), number, 7);
    size_t ranks = (size_t)r->test->place.ranks;
    r->type = (int)(drawn % 4);
    r->prod = drawn >> 2 & 1 && drawn >> 3 & 1;
    r->in_place = drawn >> 4 & 1;
    r->mode = (int)((drawn >> 5) % MODES);
    r->memory = drawn >> 8 & 1 ? RANK_HEAP : RANK_MALLOC;
    r->gaps = (drawn >> 9) % 4 == 0;
    r->root = (int)((drawn >> 12) % ranks);
    /* Few long vectors, since the reference is slow. */
    r->count = lengths[(drawn >> 20) % ((drawn >> 30) % 6 > 0 ? 6
                                        : ranks > 8           ? 7
                                                              : 8)];
    if (r->kind == SCATTER_BLOCK || r->kind == SCATTER) {
        r->count = (r->count + ranks - 1) / ranks * ranks;
    }
}

/** Run many reductions of a kind, each way. */
static void same_bits(rank_test_t *test, kind_t kind)
{
    reduction_t r = {.test = test, .kind = kind};
    RANK_CHECK(test, test->place.ranks <= MOST_RANKS);
    RANK_CHECK(test, catena_group_dup(test->world, &r.group) == CATENA_OK);
    set(&r, "reproducible", "on");
    for (int way = 0; way < WAYS; way++) {
        set_way(&r, way);
        uint64_t some =
            test->simulated ? 24 / (uint64_t)test->place.ranks + 1 : 1;
        /* Building a hierarchy over a network takes long. */
        if (!test->simulated && test->place.nodes > 1 &&
            (way + (int)kind) % 3 != 0) {
            continue;
        }
        for (uint64_t i = 0; i < some; i++) {
            draw(&r, ((uint64_t)kind * WAYS + (uint64_t)way) * 32 + i);
            size_t wrong = differences(&r);
            if (wrong > 0) {
                rank_fail(test,
                          "%s, way %d, case %d: %zu of %zu elements differ; "
                          "type %d, prod %d, in place %d, mode %d, gaps %d",
                          names[kind], way, (int)i, wrong, r.count, r.type,
                          r.prod, r.in_place, r.mode, r.gaps);
            }
        }
    }
    RANK_CHECK(test, catena_group_free(&r.group) == CATENA_OK);
}

static void each_kind(rank_test_t *test)
{
    for (kind_t kind = 0; kind < KINDS; kind++) {
        if (rank_wanted(test, names[kind])) {
            same_bits(test, kind);
            rank_conclude(test, names[kind]);
        }
    }
}

/** Without the setting another algorithm gives other bits, here at the root;
 * the setting can be set and removed. */
static void control(rank_test_t *test)
{
    reduction_t r = {
        .test = test, .kind = REDUCE, .count = 1500, .memory = RANK_MALLOC};
    int64_t wrong[3] = {0};
    RANK_CHECK(test, catena_group_dup(test->world, &r.group) == CATENA_OK);
    static const char *const value[] = {"off", "on", "off"};
    for (int turn = 0; turn < 3; turn++) {
        set(&r, "reproducible", value[turn]);
        set(&r, "hierarchy", "network:p2p");
        set(&r, "reduce_algorithm", "chain");
        wrong[turn] = (int64_t)differences(&r);
    }
    RANK_CHECK(test, wrong[1] == 0);
    bool differs = test->place.ranks > 2 && test->place.rank == r.root;
    RANK_CHECK(test, (wrong[0] > 0) == differs && (wrong[2] > 0) == differs);
    RANK_CHECK(test, catena_group_set(r.group, "reproducible", "maybe") ==
                         CATENA_ERR_ARG);
    RANK_CHECK(test, catena_group_free(&r.group) == CATENA_OK);
}

/** Allreduce and reduce of each length, each way: the same bits. */
static void each_combination(rank_test_t *test)
{
    static const size_t lengths[] = {0, 1, 2, 100, 512, 513, 6000};
    enum { LENGTHS = sizeof(lengths) / sizeof(lengths[0]) };
    reduction_t r = {.test = test};
    RANK_CHECK(test, catena_group_dup(test->world, &r.group) == CATENA_OK);
    set(&r, "reproducible", "on");
    for (int n = 0; n < 2 * WAYS * LENGTHS && test->simulated; n++) {
        r.kind = n % 2 == 0 ? ALLREDUCE : REDUCE;
        if (n / 2 % LENGTHS == 0) {
            set_way(&r, n / 2 / LENGTHS);
        }
        r.count = lengths[n / 2 % LENGTHS];
        r.mode = n / 2 % MODES;
        r.in_place = n / 4 % 2 == 0;
        r.memory = n / 8 % 2 == 0 ? RANK_HEAP : RANK_MALLOC;
        r.root = n % test->place.ranks;
        RANK_CHECK(test, differences(&r) == 0);
    }
    RANK_CHECK(test, 2 * WAYS * LENGTHS > 100);
    RANK_CHECK(test, catena_group_free(&r.group) == CATENA_OK);
}

/** Nonblocking reductions overtake each other, and blocking calls. Ranks start
 * them at different times, when hierarchies are built or not. */
static void overtake(rank_test_t *test, bool scan)
{
    enum { REQUESTS = 6, COUNT = 12000 };
    catena_request_t *request[REQUESTS];
    double *out[REQUESTS];
    reduction_t r = {
        .test = test, .kind = scan ? SCAN : ALLREDUCE, .count = COUNT};
    int operands = scan ? test->place.rank + 1 : test->place.ranks;
    double *in = calloc(COUNT, sizeof(*in));
    double sum = 0, one = 1;
    RANK_CHECK(test, catena_group_dup(test->world, &r.group) == CATENA_OK);
    set(&r, "reproducible", "on");
    fill(&r, (unsigned char *)in);
    for (int i = 0; i < REQUESTS; i++) {
        out[i] = calloc(COUNT, sizeof(*out[i]));
        size_t count = i % 2 == 0 ? COUNT : 5;
        for (int turn = 0; turn < 100 * ((i + test->place.rank) % 3); turn++) {
            RANK_CHECK(test, catena_progress(test->context) == CATENA_OK);
        }
        RANK_CHECK(test, (scan ? catena_iscan : catena_iallreduce)(
                             in, out[i], count, CATENA_DOUBLE, CATENA_SUM,
                             r.group, &request[i]) == CATENA_OK);
        if (i == 3) {
            RANK_CHECK(test, (scan ? catena_scan : catena_allreduce)(
                                 &one, &sum, 1, CATENA_DOUBLE, CATENA_SUM,
                                 r.group) == CATENA_OK);
            RANK_CHECK(test, sum == operands);
        }
    }
    RANK_CHECK(test, catena_request_waitall(REQUESTS, request) == CATENA_OK);
    for (int i = 0; i < REQUESTS; i++) {
        size_t count = i % 2 == 0 ? COUNT : 5;
        for (size_t k = 0; k < count; k++) {
            unsigned char expected[16];
            expect(&r, operands, k, expected);
            RANK_CHECK(test, memcmp(&out[i][k], expected, 8) == 0);
        }
        free(out[i]);
    }
    free(in);
    RANK_CHECK(test, catena_group_free(&r.group) == CATENA_OK);
}

static void overtaking(rank_test_t *test)
{
    overtake(test, false);
    overtake(test, true);
}

/** Two requests that build different things, where one rank starts the first
 * one, if calls are checked, before it makes the second call, and the others
 * after that. */
static void started_apart(rank_test_t *test)
{
    catena_request_t *request[2];
    catena_group_t *group;
    double in = 1, sum = 0, prefix = 0;
    RANK_CHECK(test, catena_group_dup(test->world, &group) == CATENA_OK);
    RANK_CHECK(test,
               catena_group_set(group, "reproducible", "yes") == CATENA_OK);
    if (test->place.rank == 0) {
        rank_pause(test, 20000);
    }
    RANK_CHECK(test, catena_iallreduce(&in, &sum, 1, CATENA_DOUBLE, CATENA_SUM,
                                       group, &request[0]) == CATENA_OK);
    for (int i = 0; i < 100 && test->place.rank == 0; i++) {
        RANK_CHECK(test, catena_progress(test->context) == CATENA_OK);
        rank_pause(test, 200);
    }
    RANK_CHECK(test, catena_iscan(&in, &prefix, 1, CATENA_DOUBLE, CATENA_SUM,
                                  group, &request[1]) == CATENA_OK);
    RANK_CHECK(test, catena_request_waitall(2, request) == CATENA_OK);
    RANK_CHECK(test, sum == test->place.ranks);
    RANK_CHECK(test, prefix == test->place.rank + 1);
    RANK_CHECK(test, catena_group_free(&group) == CATENA_OK);
}

/** A persistent request finds that only one rank has the setting. */
static void different_settings(rank_test_t *test)
{
    reduction_t r = {.test = test};
    catena_request_t *request;
    double in = 1, sum = 0;
    bool differs = test->place.ranks > 1;
    RANK_CHECK(test, catena_group_dup(test->world, &r.group) == CATENA_OK);
    for (int turn = 0; turn < 4; turn++) {
        bool scan = turn % 2 == 1;
        int ranks = scan ? test->place.rank + 1 : test->place.ranks;
        set(&r, "reproducible",
            turn > 1 || test->place.rank == 1 ? "on" : "off");
        RANK_CHECK(test, (scan ? catena_scan_init : catena_allreduce_init)(
                             &in, &sum, 1, CATENA_DOUBLE, CATENA_SUM, r.group,
                             &request) == CATENA_OK);
        for (int start = 0; start < 2; start++) {
            RANK_CHECK(test, catena_request_start(request) == CATENA_OK);
            catena_status_t status = catena_request_wait(&request);
            RANK_CHECK(test, differs && turn < 2
                                 ? status == CATENA_ERR_ARG
                                 : status == CATENA_OK && sum == ranks);
        }
        RANK_CHECK(test, catena_request_free(&request) == CATENA_OK);
    }
    RANK_CHECK(test, catena_group_free(&r.group) == CATENA_OK);
}

/** The same of a long scan that does not block: it fails on all ranks, and runs
 * when all have the setting. */
static void different_in_long_scan(rank_test_t *test)
{
    enum { COUNT = 4000 };
    reduction_t r = {.test = test};
    catena_request_t *request;
    double *in = calloc(COUNT, sizeof(*in));
    double *out = calloc(COUNT, sizeof(*out));
    in[COUNT - 1] = 1;
    RANK_CHECK(test, catena_group_dup(test->world, &r.group) == CATENA_OK);
    for (int turn = 0; turn < 2; turn++) {
        bool differ = turn == 0 && test->place.ranks > 2;
        set(&r, "reproducible",
            turn > 0 || test->place.rank == 1 ? "on" : "off");
        RANK_CHECK(test, catena_iscan(in, out, COUNT, CATENA_DOUBLE, CATENA_SUM,
                                      r.group, &request) == CATENA_OK);
        catena_status_t status = catena_request_wait(&request);
        RANK_CHECK(test, differ ? status == CATENA_ERR_ARG
                                : turn == 0 || status == CATENA_OK);
        RANK_CHECK(test, turn == 0 || out[COUNT - 1] == test->place.rank + 1);
    }
    free(in);
    free(out);
    RANK_CHECK(test, catena_group_free(&r.group) == CATENA_OK);
}

/** Levels that do not join the ranks of several nodes: nonblocking and
 * persistent reductions fail, and run when the levels fit. */
static void unfit_levels(rank_test_t *test)
{
    reduction_t r = {.test = test};
    bool unfit = test->place.nodes > 1;
    for (int turn = 0; turn < 4; turn++) {
        bool scan = turn % 2 == 1;
        double in = 1, sum = 0;
        int ranks = scan ? test->place.rank + 1 : test->place.ranks;
        RANK_CHECK(test, catena_group_dup(test->world, &r.group) == CATENA_OK);
        set(&r, "reproducible", "on");
        for (int fits = 0; fits < 2; fits++) {
            catena_request_t *request;
            set(&r, "hierarchy", fits == 0 ? "node:shm" : "auto");
            RANK_CHECK(test, (turn > 1 ? scan ? catena_scan_init
                                              : catena_allreduce_init
                              : scan   ? catena_iscan
                                       : catena_iallreduce)(
                                 &in, &sum, 1, CATENA_DOUBLE, CATENA_SUM,
                                 r.group, &request) == CATENA_OK);
            RANK_CHECK(test,
                       turn < 2 || catena_request_start(request) == CATENA_OK);
            catena_status_t status = catena_request_wait(&request);
            RANK_CHECK(test, unfit && fits == 0
                                 ? status == CATENA_ERR_ARG
                                 : status == CATENA_OK && sum == ranks);
            RANK_CHECK(test, catena_progress(test->context) == CATENA_OK);
            RANK_CHECK(test,
                       turn < 2 || catena_request_free(&request) == CATENA_OK);
        }
        RANK_CHECK(test, catena_group_free(&r.group) == CATENA_OK);
    }
}

/** An allreduce, or scan, with an element more on one rank fails on all ranks
 * whose results depend on its data or length, by the group's hierarchy or the
 * flat one, and the next one works. */
static void different_lengths(rank_test_t *test, bool scan)
{
    enum { COUNT = 20000 };
    catena_group_t *group;
    catena_request_t *request;
    double *in = calloc(COUNT + 1, sizeof(*in));
    double *out = calloc(COUNT + 1, sizeof(*out));
    size_t count = COUNT + (test->place.rank == 1);
    bool differs = test->place.ranks > 1 && (!scan || test->place.rank > 0);
    RANK_CHECK(test, catena_group_dup(test->world, &group) == CATENA_OK);
    RANK_CHECK(test,
               catena_group_set(group, "reproducible", "on") == CATENA_OK);
    for (int turn = 0; turn < 4; turn++) {
        catena_status_t status =
            turn % 2 == 0
                ? (scan ? catena_scan : catena_allreduce)(
                      in, out, count, CATENA_DOUBLE, CATENA_SUM, group)
                : (scan ? catena_iscan
                        : catena_iallreduce)(in, out, count, CATENA_DOUBLE,
                                             CATENA_SUM, group, &request);
        if (turn % 2 == 1 && status == CATENA_OK) {
            status = catena_request_wait(&request);
        }
        bool unknown = scan && turn < 2 && test->place.rank == 0;
        RANK_CHECK(test, unknown
                             ? status == CATENA_OK || status == CATENA_ERR_ARG
                         : turn < 2 && differs ? status == CATENA_ERR_ARG
                                               : status == CATENA_OK);
        count = turn > 0 ? COUNT : count;
    }
    free(in);
    free(out);
    RANK_CHECK(test, catena_group_free(&group) == CATENA_OK);
}

static void different_counts_of_sum(rank_test_t *test)
{
    different_lengths(test, false);
}

static void different_counts_of_scan(rank_test_t *test)
{
    different_lengths(test, true);
}

/** A scan of transposed vectors with an element more on one rank: no rank waits
 * forever. There are 4 or 5 nodes. */
static void different_counts(rank_test_t *test)
{
    enum { COUNT = 110 };
    reduction_t r = {.test = test};
    double *in = calloc(COUNT + 1, sizeof(*in));
    double *out = calloc(COUNT + 1, sizeof(*out));
    RANK_CHECK(test, catena_group_dup(test->world, &r.group) == CATENA_OK);
    set(&r, "reproducible", "on");
    catena_status_t status =
        catena_scan(in, out, COUNT + (test->place.rank == 1), CATENA_DOUBLE,
                    CATENA_SUM, r.group);
    /* ERR_PEER: another rank has left already. */
    RANK_CHECK(test, status == CATENA_ERR_ENDED || status == CATENA_ERR_PEER);
    test->ended = true;
    (void)catena_group_free(&r.group);
    free(in);
    free(out);
}

/** The setting is on on one rank only: a nonblocking reduction ends its
 * context, and no rank waits forever. */
static void different_nonblocking(rank_test_t *test, bool scan)
{
    reduction_t r = {.test = test};
    catena_request_t *request;
    double in = 1, sum = 0;
    bool on = test->place.rank == 1;
    RANK_CHECK(test, catena_group_dup(test->world, &r.group) == CATENA_OK);
    set(&r, "reproducible", on ? "on" : "off");
    catena_status_t status = (scan ? catena_iscan : catena_iallreduce)(
        &in, &sum, 1, CATENA_DOUBLE, CATENA_SUM, r.group, &request);
    if (status == CATENA_OK) {
        status = catena_request_wait(&request);
    }
    if (on) { /* the failure of this hierarchy is seen before that of the flat
               */
        while (status == CATENA_ERR_ARG) {
            status = catena_progress(test->context);
        }
    }
    RANK_CHECK(test, status == CATENA_ERR_ENDED || status == CATENA_ERR_PEER ||
                         (status == CATENA_ERR_ARG && !on));
    test->ended = true;
    (void)catena_group_free(&r.group);
}

static void different_in_sum(rank_test_t *test)
{
    different_nonblocking(test, false);
}

static void different_in_scan(rank_test_t *test)
{
    different_nonblocking(test, true);
}

static const rank_case_t ending[] = {
    {"different counts", different_counts},
    {"different settings, nonblocking", different_in_sum},
    {"a nonblocking scan, different settings", different_in_scan},
    {NULL, NULL}};
const rank_suite_t rank_suite_reproducibleend = {
    .name = "reproducibleend", .cases = ending, .ranks = 3, .named = true};

static const rank_case_t cases[] = {
    {"other bits without the setting", control},
    {"each way and length", each_combination},
    {"reductions under way together", overtaking},
    {"requests that start apart", started_apart},
    {"different settings", different_settings},
    {"different settings of a long scan", different_in_long_scan},
    {"levels that do not fit", unfit_levels},
    {"different counts of a sum", different_counts_of_sum},
    {"different counts of a scan", different_counts_of_scan},
    {NULL, NULL}};
static const rank_case_t many[] = {{"same bits", each_kind}, {NULL, NULL}};
const rank_suite_t rank_suite_reproducible = {
    .name = "reproducible", .cases = cases, .many = many};
