#ifndef ORACLE_COVER_H
#define ORACLE_COVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Cases are values of factors. A small set of them can be found in which every
 * two values that go together meet, and can be dealt out to layouts of ranks so
 * that every value meets every layout. */

enum { ORACLE_FACTORS = 14, ORACLE_VALUES = 32, ORACLE_LAYOUTS = 32 };

typedef struct oracle_case {
    uint8_t value[ORACLE_FACTORS];
} oracle_case_t;

/** Some case has to be like this one in the factors that `keep` names by
 * bits. */
typedef struct oracle_way {
    oracle_case_t c;
    unsigned keep;
} oracle_way_t;

typedef struct oracle_space {
    unsigned factors;
    uint8_t values[ORACLE_FACTORS]; /* how many each has */
    bool (*valid)(const oracle_case_t *c);
    /** Valid cases; any two values that go together do so in one of them. */
    const oracle_case_t *base;
    size_t bases;
    const oracle_way_t *way; /* valid ones */
    size_t ways;
    /** More of them, for the second sort of layouts only. */
    const oracle_way_t *more;
    size_t mores;
    /** After `factor` was drawn: draw what has to change with it, unless it is
     * among `keep`. NULL: nothing. */
    void (*follow)(oracle_case_t *c, unsigned factor, unsigned keep,
                   uint64_t *random);
} oracle_space_t;

/** A set in which every two values that go together meet, and in which there
 * are all ways. The same everywhere; the caller frees it.
 * @param[out] first how many there are without those for `more` */
oracle_case_t *oracle_cover(const oracle_space_t *space, size_t *count,
                            size_t *first);
/** How many pairs of values that go together, and how many ways, are missing
 * from a set. */
size_t oracle_uncovered(const oracle_space_t *space, const oracle_case_t *set,
                        size_t count);

/** Layouts, as far as dealing goes. */
typedef struct oracle_deal {
    unsigned layouts;
    const unsigned *cost; /* [layouts] of a case */
    const bool *second;   /* [layouts] each case runs on one of either sort */
    /** Whether the ranks of a layout can run a case. */
    bool (*fits)(const oracle_case_t *c, unsigned layout);
} oracle_deal_t;

/** On which layouts each case runs, by bits: the `first` on both sorts. The
 * caller frees it. */
uint32_t *oracle_deal(const oracle_space_t *space, const oracle_deal_t *deal,
                      const oracle_case_t *set, size_t count, size_t first);
/** How many pairs of a value and a layout that some case of the set allows have
 * no case that was dealt. */
size_t oracle_undealt(const oracle_space_t *space, const oracle_deal_t *deal,
                      const oracle_case_t *set, const uint32_t *dealt,
                      size_t count);

#endif
