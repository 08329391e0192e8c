/* Which cases there are, and a few of them in which every two values that go
 * together meet: found greedily, the same on all ranks. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll_case.h"

enum { MOST_ALGORITHMS = 6, MOST_VALUES = 32, TRIES = 30 };

static const char *const kinds[COLL_KINDS] = {
    "barrier",   "bcast",      "reduce",         "allreduce",
    "gather",    "gatherv",    "scatter",        "scatterv",
    "allgather", "allgatherv", "reduce_scatter", "reduce_scatter_block",
    "scan",      "exscan"};

/* Settings by which hierarchy and algorithm are chosen. */
static const char *const settings[COLL_KINDS] = {
    "barrier",        "bcast",          "reduce",  "allreduce", "gather",
    "gather",         "scatter",        "scatter", "allgather", "allgather",
    "reduce_scatter", "reduce_scatter", "scan",    "scan"};

static const char *const algorithms[COLL_KINDS][MOST_ALGORITHMS] = {
#include "coll_algorithms.h"
};

static const char *const hierarchies[] = {
    "auto",
    "node:shm,network:p2p",
    "network:p2p",
    "numa:shm,node:shm,network:p2p",
    "l3:p2p,socket:shm,node:p2p,network:ucx",
    "user:p2p,network:p2p",
};
enum { HIERARCHIES = sizeof(hierarchies) / sizeof(hierarchies[0]) };

const char *coll_kind_name(unsigned kind)
{
    return kinds[kind];
}

const char *coll_setting_name(unsigned kind)
{
    return settings[kind];
}

const char *coll_algorithm_name(unsigned kind, unsigned algorithm)
{
    return algorithm == 0 ? "auto" : algorithms[kind][algorithm - 1];
}

const char *coll_hierarchy_name(unsigned hierarchy)
{
    return hierarchies[hierarchy];
}

void coll_describe(const coll_case_t *c, char *text, size_t bytes)
{
    const uint8_t *v = c->value;
    static const char *const modes[] = {"", "i", "init "};
    static const char *const roots[] = {"first", "last", "middle"};
    snprintf(text, bytes,
             "%s%s algorithm=%s hierarchy=%s%s%s type=\"%s\" op=%s size=%u "
             "root=%s memory=%u",
             modes[v[COLL_MODE]], kinds[v[COLL_KIND]],
             coll_algorithm_name(v[COLL_KIND], v[COLL_ALGORITHM]),
             hierarchies[v[COLL_HIERARCHY]],
             v[COLL_GROUP] == COLL_TURNED ? " turned" : "",
             v[COLL_PLACE] == COLL_IN_PLACE ? " in-place" : "",
             coll_type_name(v[COLL_TYPE]), coll_op_name(v[COLL_OP]),
             v[COLL_SIZE], roots[v[COLL_ROOT]], v[COLL_MEMORY]);
}

/* ---- what goes together ---- */

bool coll_reduces(unsigned kind)
{
    return kind == COLL_REDUCE || kind == COLL_ALLREDUCE ||
           kind >= COLL_REDUCE_SCATTER;
}

bool coll_rooted(unsigned kind)
{
    return kind == COLL_BCAST || kind == COLL_REDUCE ||
           (kind >= COLL_GATHER && kind <= COLL_SCATTERV);
}

bool coll_vector_counts(unsigned kind)
{
    return kind == COLL_GATHERV || kind == COLL_SCATTERV ||
           kind == COLL_ALLGATHERV || kind == COLL_REDUCE_SCATTER;
}

unsigned coll_values(coll_factor_t factor)
{
    static const unsigned counts[COLL_FACTORS] = {
        [COLL_KIND] = COLL_KINDS,       [COLL_ALGORITHM] = MOST_ALGORITHMS,
        [COLL_HIERARCHY] = HIERARCHIES, [COLL_GROUP] = COLL_GROUPS,
        [COLL_MODE] = COLL_MODES,       [COLL_PLACE] = COLL_PLACES,
        [COLL_TYPE] = COLL_TYPES,       [COLL_OP] = COLL_OPS,
        [COLL_SIZE] = COLL_SIZES,       [COLL_ROOT] = COLL_ROOTS,
        [COLL_MEMORY] = COLL_MEMORIES};
    return counts[factor];
}

static bool has_algorithm(unsigned kind, unsigned algorithm)
{
    for (unsigned i = 0; i < algorithm; i++) {
        if (algorithms[kind][i] == NULL) {
            return false;
        }
    }
    return true;
}

bool coll_valid(const coll_case_t *c)
{
    const uint8_t *v = c->value;
    unsigned kind = v[COLL_KIND];
    bool reduces = coll_reduces(kind);
    bool barrier = kind == COLL_BARRIER;
    if (!has_algorithm(kind, v[COLL_ALGORITHM]) ||
        reduces != (v[COLL_OP] != COLL_NO_OP) ||
        (reduces && !coll_op_takes(v[COLL_OP], v[COLL_TYPE])) ||
        (v[COLL_PLACE] == COLL_IN_PLACE && (barrier || kind == COLL_BCAST)) ||
        (v[COLL_ROOT] != COLL_FIRST && !coll_rooted(kind))) {
        return false;
    }
    return !barrier ||
           (v[COLL_TYPE] == 0 && v[COLL_SIZE] == 0 && v[COLL_MEMORY] == 0);
}

void coll_repair(coll_case_t *c)
{
    uint8_t *v = c->value;
    if (v[COLL_KIND] == COLL_BARRIER) {
        v[COLL_SIZE] = v[COLL_MEMORY] = 0;
    }
    if (!coll_rooted(v[COLL_KIND])) {
        v[COLL_ROOT] = COLL_FIRST;
    }
}

/* ---- covering ---- */

/** Which pairs of values go together, or have met. */
typedef struct pairs {
    bool met[COLL_FACTORS][MOST_VALUES][COLL_FACTORS][MOST_VALUES];
} pairs_t;

/** Whether there is a valid case with these values of two factors; it. What
 * may contradict each other are kind, type and operation; 0 goes with all of
 * the other factors' values. */
static bool complete(coll_factor_t f, unsigned fv, coll_factor_t g, unsigned gv,
                     coll_case_t *c)
{
    for (unsigned kind = 0; kind < COLL_KINDS; kind++) {
        for (unsigned type = 0; type < COLL_TYPES; type++) {
            for (unsigned op = 0; op < COLL_OPS; op++) {
                *c = (coll_case_t){.value = {[COLL_KIND] = (uint8_t)kind,
                                             [COLL_TYPE] = (uint8_t)type,
                                             [COLL_OP] = (uint8_t)op}};
                c->value[f] = (uint8_t)fv;
                c->value[g] = (uint8_t)gv;
                if (coll_valid(c)) {
                    return true;
                }
            }
        }
    }
    return false;
}

static void for_each_pair(void (*run)(coll_factor_t f, unsigned fv,
                                      coll_factor_t g, unsigned gv, void *),
                          void *argument)
{
    for (coll_factor_t f = 0; f < COLL_FACTORS; f++) {
        for (coll_factor_t g = f + 1; g < COLL_FACTORS; g++) {
            for (unsigned fv = 0; fv < coll_values(f); fv++) {
                for (unsigned gv = 0; gv < coll_values(g); gv++) {
                    run(f, fv, g, gv, argument);
                }
            }
        }
    }
}

static size_t meet(pairs_t *pairs, const coll_case_t *c, bool count_only)
{
    size_t fresh = 0;
    for (coll_factor_t f = 0; f < COLL_FACTORS; f++) {
        for (coll_factor_t g = f + 1; g < COLL_FACTORS; g++) {
            bool *met = &pairs->met[f][c->value[f]][g][c->value[g]];
            fresh += !*met;
            *met |= !count_only;
        }
    }
    return fresh;
}

/** Change single values at random as long as the case stays valid, but for
 * those of f and g. */
static void shuffle(coll_case_t *c, coll_factor_t f, coll_factor_t g,
                    uint64_t *state)
{
    for (unsigned i = 0; i < 8 * COLL_FACTORS; i++) {
        coll_case_t other = *c;
        coll_factor_t factor =
            (coll_factor_t)(rank_random(state) % COLL_FACTORS);
        if (factor == f || factor == g) {
            continue;
        }
        other.value[factor] =
            (uint8_t)(rank_random(state) % coll_values(factor));
        /* Operation and kind, or type, change together or not at all. */
        if (factor == COLL_KIND && f != COLL_OP && g != COLL_OP) {
            other.value[COLL_OP] =
                coll_reduces(other.value[COLL_KIND])
                    ? (uint8_t)(1 + rank_random(state) % (COLL_OPS - 1))
                    : COLL_NO_OP;
        }
        if (coll_valid(&other)) {
            *c = other;
        }
    }
}

typedef struct search {
    pairs_t *pairs;
    coll_case_t *set;
    size_t count;
    size_t room;
    uint64_t state;
} search_t;

static void cover_pair(coll_factor_t f, unsigned fv, coll_factor_t g,
                       unsigned gv, void *argument)
{
    search_t *search = argument;
    coll_case_t first, best;
    size_t most = 0;
    if (search->pairs->met[f][fv][g][gv] || !complete(f, fv, g, gv, &first)) {
        return;
    }
    best = first;
    for (unsigned i = 0; i < TRIES; i++) {
        coll_case_t c = first;
        shuffle(&c, f, g, &search->state);
        size_t fresh = meet(search->pairs, &c, true);
        if (fresh > most) {
            most = fresh;
            best = c;
        }
    }
    (void)meet(search->pairs, &best, false);
    if (search->count == search->room) {
        search->room = 2 * search->room + 64;
        search->set = realloc(search->set, search->room * sizeof(*search->set));
    }
    search->set[search->count++] = best;
}

coll_case_t *coll_cover(size_t *count)
{
    search_t search = {.pairs = calloc(1, sizeof(pairs_t)), .state = 2026};
    for_each_pair(cover_pair, &search);
    free(search.pairs);
    *count = search.count;
    return search.set;
}

static void count_missing(coll_factor_t f, unsigned fv, coll_factor_t g,
                          unsigned gv, void *argument)
{
    search_t *search = argument;
    coll_case_t c;
    search->count +=
        !search->pairs->met[f][fv][g][gv] && complete(f, fv, g, gv, &c);
}

size_t coll_uncovered(const coll_case_t *set, size_t count)
{
    search_t search = {.pairs = calloc(1, sizeof(pairs_t))};
    for (size_t i = 0; i < count; i++) {
        if (coll_valid(&set[i])) {
            (void)meet(search.pairs, &set[i], false);
        }
    }
    for_each_pair(count_missing, &search);
    free(search.pairs);
    return search.count;
}
