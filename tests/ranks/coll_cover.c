/* Which cases there are, and a few of them in which every two values that go
 * together meet: found greedily, the same on all ranks. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll_case.h"

enum { MOST_ALGORITHMS = 12, MOST_VALUES = 32, TRIES = 30 };

static const char *const kinds[COLL_KINDS] = {
    "barrier",   "bcast",      "reduce",         "allreduce",
    "gather",    "gatherv",    "scatter",        "scatterv",
    "allgather", "allgatherv", "reduce_scatter", "reduce_scatter_block",
    "scan",      "exscan"};

/* By whose settings hierarchy and algorithm are chosen. */
static const coll_kind_t settings[COLL_KINDS] = {
    COLL_BARRIER,   COLL_BCAST,     COLL_REDUCE,         COLL_ALLREDUCE,
    COLL_GATHER,    COLL_GATHER,    COLL_SCATTER,        COLL_SCATTER,
    COLL_ALLGATHER, COLL_ALLGATHER, COLL_REDUCE_SCATTER, COLL_REDUCE_SCATTER,
    COLL_SCAN,      COLL_SCAN};

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
    return kinds[settings[kind]];
}

unsigned coll_algorithms(unsigned kind)
{
    unsigned count = 1;
    while (count < MOST_ALGORITHMS &&
           algorithms[settings[kind]][count - 1] != NULL) {
        count++;
    }
    return count;
}

const char *coll_algorithm_name(unsigned kind, unsigned algorithm)
{
    return algorithm == 0 ? "auto" : algorithms[settings[kind]][algorithm - 1];
}

const char *coll_hierarchy_name(unsigned hierarchy)
{
    return hierarchies[hierarchy];
}

bool coll_by_network(const coll_case_t *c)
{
    return strstr(hierarchies[c->value[COLL_HIERARCHY]], "ucx") != NULL;
}

void coll_describe(const coll_case_t *c, char *text, size_t bytes)
{
    const uint8_t *v = c->value;
    static const char *const modes[] = {"", "i", "init "};
    static const char *const roots[] = {"first", "last", "middle"};
    static const char *const groups[] = {"", " turned", " dealt"};
    snprintf(text, bytes,
             "%s%s algorithm=%s hierarchy=%s%s%s type=\"%s\" op=%s size=%u "
             "root=%s memory=%u",
             modes[v[COLL_MODE]], kinds[v[COLL_KIND]],
             coll_algorithm_name(v[COLL_KIND], v[COLL_ALGORITHM]),
             hierarchies[v[COLL_HIERARCHY]], groups[v[COLL_GROUP]],
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

/** Whether all ranks have a block in some buffer. */
static bool has_blocks(unsigned kind)
{
    return kind >= COLL_GATHER && kind <= COLL_REDUCE_SCATTER_BLOCK;
}

bool coll_valid(const coll_case_t *c)
{
    const uint8_t *v = c->value;
    unsigned kind = v[COLL_KIND];
    bool reduces = coll_reduces(kind);
    bool barrier = kind == COLL_BARRIER;
    if (v[COLL_ALGORITHM] >= coll_algorithms(kind) ||
        reduces != (v[COLL_OP] != COLL_NO_OP) ||
        (reduces && !coll_op_takes(v[COLL_OP], v[COLL_TYPE])) ||
        (v[COLL_PLACE] == COLL_IN_PLACE && (barrier || kind == COLL_BCAST)) ||
        (v[COLL_ROOT] != COLL_FIRST && !coll_rooted(kind)) ||
        (v[COLL_MEMORY] >= COLL_ODD && reduces) ||
        (v[COLL_SIZE] >= COLL_LONG && has_blocks(kind))) {
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
    if (coll_reduces(v[COLL_KIND])) {
        v[COLL_MEMORY] %= COLL_ODD;
    }
    if (has_blocks(v[COLL_KIND])) {
        v[COLL_SIZE] %= COLL_LONG;
    }
}

void coll_draw(coll_case_t *c, unsigned kind, bool network, uint64_t *random)
{
    do {
        for (coll_factor_t f = 0; f < COLL_FACTORS; f++) {
            c->value[f] = (uint8_t)(rank_random(random) % coll_values(f));
        }
        c->value[COLL_KIND] = (uint8_t)kind;
        coll_repair(c);
    } while (!coll_valid(c) || (!network && coll_by_network(c)));
}

/* ---- covering ---- */

/** Which values have met. */
typedef struct met {
    bool pair[COLL_FACTORS][MOST_VALUES][COLL_FACTORS][MOST_VALUES];
    bool way[COLL_KINDS][MOST_ALGORITHMS][HIERARCHIES][2]; /* 1: ordered */
} met_t;

static bool *way_of(met_t *met, const coll_case_t *c)
{
    return &met->way[c->value[COLL_KIND]][c->value[COLL_ALGORITHM]]
                    [c->value[COLL_HIERARCHY]]
                    [c->value[COLL_OP] == COLL_ORDERED];
}

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

static size_t meet(met_t *all, const coll_case_t *c, bool count_only)
{
    bool *way = way_of(all, c);
    size_t fresh = !*way;
    *way |= !count_only;
    for (coll_factor_t f = 0; f < COLL_FACTORS; f++) {
        for (coll_factor_t g = f + 1; g < COLL_FACTORS; g++) {
            bool *met = &all->pair[f][c->value[f]][g][c->value[g]];
            fresh += !*met;
            *met |= !count_only;
        }
    }
    return fresh;
}

/** Change single values at random as long as the case stays valid, but for
 * those of the factors (bits) to keep. */
static void shuffle(coll_case_t *c, unsigned keep, uint64_t *state)
{
    for (unsigned i = 0; i < 8 * COLL_FACTORS; i++) {
        coll_case_t other = *c;
        coll_factor_t factor =
            (coll_factor_t)(rank_random(state) % COLL_FACTORS);
        if ((keep >> factor & 1) != 0) {
            continue;
        }
        other.value[factor] =
            (uint8_t)(rank_random(state) % coll_values(factor));
        /* Operation and kind, or type, change together or not at all. */
        if (factor == COLL_KIND && (keep >> COLL_OP & 1) == 0) {
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
    met_t *met;
    coll_case_t *set;
    size_t count;
    size_t room;
    uint64_t state;
} search_t;

/** Add the case that brings most, of some that are like this one in what is to
 * be kept. */
static void add_like(search_t *search, const coll_case_t *first, unsigned keep)
{
    coll_case_t best = *first;
    size_t most = 0;
    for (unsigned i = 0; i < TRIES; i++) {
        coll_case_t c = *first;
        shuffle(&c, keep, &search->state);
        size_t fresh = meet(search->met, &c, true);
        if (fresh > most) {
            most = fresh;
            best = c;
        }
    }
    (void)meet(search->met, &best, false);
    if (search->count == search->room) {
        search->room = 2 * search->room + 64;
        search->set = realloc(search->set, search->room * sizeof(*search->set));
    }
    search->set[search->count++] = best;
}

static void cover_pair(coll_factor_t f, unsigned fv, coll_factor_t g,
                       unsigned gv, void *argument)
{
    search_t *search = argument;
    coll_case_t first;
    if (!search->met->pair[f][fv][g][gv] && complete(f, fv, g, gv, &first)) {
        add_like(search, &first, 1u << f | 1u << g);
    }
}

typedef void (*for_way_t)(search_t *search, const coll_case_t *c);

static void for_each_hierarchy(for_way_t run, search_t *search, coll_case_t c)
{
    for (unsigned h = 0; h < HIERARCHIES; h++) {
        c.value[COLL_HIERARCHY] = (uint8_t)h;
        run(search, &c);
    }
}

/** Every collective by every algorithm in every hierarchy: which component runs
 * what follows from these three. Reductions twice: only an operation that does
 * not commute tells the order, but it goes by ways of its own. */
static void for_each_way(for_way_t run, search_t *search)
{
    for (unsigned kind = 0; kind < COLL_KINDS; kind++) {
        for (unsigned a = 0; a < MOST_ALGORITHMS; a++) {
            coll_case_t c;
            if (!complete(COLL_KIND, kind, COLL_ALGORITHM, a, &c)) {
                continue;
            }
            for_each_hierarchy(run, search, c);
            if (coll_reduces(kind)) {
                c.value[COLL_OP] = COLL_ORDERED;
                c.value[COLL_TYPE] = COLL_TRIPLE;
                for_each_hierarchy(run, search, c);
            }
        }
    }
}

static void cover_way(search_t *search, const coll_case_t *c)
{
    unsigned ordered = c->value[COLL_OP] == COLL_ORDERED;
    while (!*way_of(search->met, c)) { /* the operation may be drawn */
        add_like(search, c,
                 1u << COLL_KIND | 1u << COLL_ALGORITHM | 1u << COLL_HIERARCHY |
                     ordered << COLL_OP);
    }
}

coll_case_t *coll_cover(size_t *count)
{
    search_t search = {.met = calloc(1, sizeof(met_t)), .state = 2026};
    for_each_way(cover_way, &search);
    for_each_pair(cover_pair, &search);
    free(search.met);
    *count = search.count;
    return search.set;
}

static void count_missing(coll_factor_t f, unsigned fv, coll_factor_t g,
                          unsigned gv, void *argument)
{
    search_t *search = argument;
    coll_case_t c;
    search->count +=
        !search->met->pair[f][fv][g][gv] && complete(f, fv, g, gv, &c);
}

static void count_way(search_t *search, const coll_case_t *c)
{
    search->count += !*way_of(search->met, c);
}

size_t coll_uncovered(const coll_case_t *set, size_t count)
{
    search_t search = {.met = calloc(1, sizeof(met_t))};
    for (size_t i = 0; i < count; i++) {
        if (coll_valid(&set[i])) {
            (void)meet(search.met, &set[i], false);
        }
    }
    for_each_way(count_way, &search);
    for_each_pair(count_missing, &search);
    free(search.met);
    return search.count;
}
