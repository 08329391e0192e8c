/* Pairwise covering sets, found greedily. */

#include "oracle/cover.h"

#include <stdlib.h>
#include <string.h>

#include "oracle/random.h"

enum { TRIES = 30 };

/** The covered pairs of values. */
typedef bool met_t[ORACLE_FACTORS][ORACLE_VALUES][ORACLE_FACTORS]
                  [ORACLE_VALUES];

typedef struct search {
    const oracle_space_t *space;
    met_t *met;
    oracle_case_t *set;
    size_t count;
    size_t room;
    uint64_t random;
} search_t;

/** Whether a valid case has these values of two factors, and that case. */
static bool complete(const oracle_space_t *space, unsigned f, unsigned fv,
                     unsigned g, unsigned gv, oracle_case_t *c)
{
    for (size_t i = 0; i < space->bases; i++) {
        *c = space->base[i];
        c->value[f] = (uint8_t)fv;
        c->value[g] = (uint8_t)gv;
        if (space->valid(c)) {
            return true;
        }
    }
    return false;
}

/** The number of a case's pairs that are new; optionally marks them as covered.
 */
static size_t meet(search_t *search, const oracle_case_t *c, bool note)
{
    unsigned factors = search->space->factors;
    size_t fresh = 0;
    for (unsigned f = 0; f < factors; f++) {
        for (unsigned g = f + 1; g < factors; g++) {
            bool *met = &(*search->met)[f][c->value[f]][g][c->value[g]];
            fresh += !*met;
            *met |= note;
        }
    }
    return fresh;
}

/** Change single values at random while the case stays valid, except those of
 * the factors to keep. */
static void shuffle(const oracle_space_t *space, oracle_case_t *c,
                    unsigned keep, uint64_t *random)
{
    for (unsigned i = 0; i < 8 * space->factors; i++) {
        oracle_case_t other = *c;
        unsigned factor = (unsigned)ctn_random_below(random, space->factors);
        if ((keep >> factor & 1) != 0) {
            continue;
        }
        other.value[factor] =
            (uint8_t)ctn_random_below(random, space->values[factor]);
        if (space->follow != NULL) {
            space->follow(&other, factor, keep, random);
        }
        if (space->valid(&other)) {
            *c = other;
        }
    }
}

/** Add the case that covers most, of some cases equal to this one in the
 * factors to keep. */
static void add_like(search_t *search, const oracle_case_t *first,
                     unsigned keep)
{
    oracle_case_t best = *first;
    size_t most = 0;
    for (unsigned i = 0; i < TRIES; i++) {
        oracle_case_t c = *first;
        shuffle(search->space, &c, keep, &search->random);
        size_t fresh = meet(search, &c, false);
        if (i == 0 || fresh > most) { /* any, if nothing is new */
            most = fresh;
            best = c;
        }
    }
    (void)meet(search, &best, true);
    if (search->count == search->room) {
        search->room = 2 * search->room + 64;
        search->set = realloc(search->set, search->room * sizeof(*search->set));
    }
    search->set[search->count++] = best;
}

static bool has_way(const oracle_way_t *way, const oracle_case_t *set,
                    size_t count)
{
    for (size_t i = 0; i < count; i++) {
        unsigned f = 0;
        while (f < ORACLE_FACTORS && ((way->keep >> f & 1) == 0 ||
                                      set[i].value[f] == way->c.value[f])) {
            f++;
        }
        if (f == ORACLE_FACTORS) {
            return true;
        }
    }
    return false;
}

/** Add a case for each uncovered pair of values, or count the pairs. */
static size_t for_missing_pairs(search_t *search, bool add)
{
    const oracle_space_t *space = search->space;
    size_t missing = 0;
    oracle_case_t c;
    for (unsigned f = 0; f < space->factors; f++) {
        for (unsigned g = f + 1; g < space->factors; g++) {
            for (unsigned i = 0;
                 i < (unsigned)space->values[f] * space->values[g]; i++) {
                unsigned fv = i / space->values[g];
                unsigned gv = i % space->values[g];
                if ((*search->met)[f][fv][g][gv] ||
                    !complete(space, f, fv, g, gv, &c)) {
                    continue;
                }
                missing++;
                if (add) {
                    add_like(search, &c, 1u << f | 1u << g);
                }
            }
        }
    }
    return missing;
}

static void add_ways(search_t *search, const oracle_way_t *way, size_t ways)
{
    for (size_t i = 0; i < ways; i++) {
        if (!has_way(&way[i], search->set, search->count)) {
            add_like(search, &way[i].c, way[i].keep);
        }
    }
}

oracle_case_t *oracle_cover(const oracle_space_t *space, size_t *count,
                            size_t *first)
{
    search_t search = {
        .space = space, .met = calloc(1, sizeof(met_t)), .random = 2026};
    add_ways(&search, space->way, space->ways);
    (void)for_missing_pairs(&search, true);
    *first = search.count;
    add_ways(&search, space->more, space->mores);
    free(search.met);
    *count = search.count;
    return search.set;
}

size_t oracle_uncovered(const oracle_space_t *space, const oracle_case_t *set,
                        size_t count)
{
    search_t search = {.space = space, .met = calloc(1, sizeof(met_t))};
    size_t missing = 0;
    for (size_t i = 0; i < count; i++) {
        if (space->valid(&set[i])) {
            (void)meet(&search, &set[i], true);
        }
    }
    for (size_t i = 0; i < space->ways; i++) {
        missing += !has_way(&space->way[i], set, count);
    }
    for (size_t i = 0; i < space->mores; i++) {
        missing += !has_way(&space->more[i], set, count);
    }
    missing += for_missing_pairs(&search, false);
    free(search.met);
    return missing;
}

/* ---- layouts ---- */

/** The pairs of value and layout already dealt. */
typedef bool dealt_t[ORACLE_LAYOUTS][ORACLE_FACTORS][ORACLE_VALUES];

static unsigned fresh_on(const oracle_space_t *space, bool met[][ORACLE_VALUES],
                         const oracle_case_t *c, bool note)
{
    unsigned fresh = 0;
    for (unsigned f = 0; f < space->factors; f++) {
        fresh += !met[f][c->value[f]];
        met[f][c->value[f]] |= note;
    }
    return fresh;
}

typedef struct table {
    const oracle_space_t *space;
    const oracle_deal_t *deal;
    dealt_t *met;
    unsigned load[ORACLE_LAYOUTS];
} table_t;

static void put_on(table_t *table, const oracle_case_t *c, unsigned layout,
                   uint32_t *dealt)
{
    (void)fresh_on(table->space, (*table->met)[layout], c, true);
    table->load[layout] += table->deal->cost[layout];
    *dealt |= UINT32_C(1) << layout;
}

/** The layout of a sort, not a rare one, for which a case covers most; among
 * equals, the one with least load. */
static void deal_one(table_t *table, const oracle_case_t *c, bool second,
                     uint32_t *dealt)
{
    const oracle_deal_t *deal = table->deal;
    unsigned best = deal->layouts;
    long most = 0;
    for (unsigned l = 0; l < deal->layouts; l++) {
        if (deal->second[l] != second || deal->rare[l] || !deal->fits(c, l)) {
            continue;
        }
        long fresh =
            (long)fresh_on(table->space, (*table->met)[l], c, false) * 1000 -
            (long)table->load[l];
        if (best == deal->layouts || fresh > most) {
            best = l;
            most = fresh;
        }
    }
    if (best < deal->layouts) {
        put_on(table, c, best, dealt);
    }
}

uint32_t *oracle_deal(const oracle_space_t *space, const oracle_deal_t *deal,
                      const oracle_case_t *set, size_t count, size_t first)
{
    table_t table = {
        .space = space, .deal = deal, .met = calloc(1, sizeof(dealt_t))};
    uint32_t *dealt = calloc(count + 1, sizeof(*dealt));
    for (size_t i = 0; i < count; i++) {
        if (i < first) {
            deal_one(&table, &set[i], false, &dealt[i]);
        }
        deal_one(&table, &set[i], true, &dealt[i]);
    }
    for (unsigned l = 0; l < deal->layouts; l++) {
        for (size_t i = 0; i < count; i++) {
            if (fresh_on(space, (*table.met)[l], &set[i], false) > 0 &&
                deal->fits(&set[i], l)) {
                put_on(&table, &set[i], l, &dealt[i]);
            }
        }
    }
    free(table.met);
    return dealt;
}

size_t oracle_undealt(const oracle_space_t *space, const oracle_deal_t *deal,
                      const oracle_case_t *set, const uint32_t *dealt,
                      size_t count)
{
    size_t missing = 0;
    for (unsigned l = 0; l < deal->layouts; l++) {
        dealt_t *met = calloc(1, sizeof(dealt_t));
        for (size_t i = 0; i < count; i++) {
            if ((dealt[i] >> l & 1) != 0) {
                (void)fresh_on(space, (*met)[l], &set[i], true);
            }
        }
        for (size_t i = 0; i < count; i++) {
            if (deal->fits(&set[i], l)) {
                missing += fresh_on(space, (*met)[l], &set[i], true);
            }
        }
        free(met);
    }
    return missing;
}
