#ifndef ORACLE_COVER_H
#define ORACLE_COVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Cases are values of factors. A small covering set contains every valid pair
 * of values. Its cases can be dealt to layouts so that every value meets every
 * layout. */

enum { ORACLE_FACTORS = 14, ORACLE_VALUES = 32, ORACLE_LAYOUTS = 32 };

typedef struct oracle_case {
    uint8_t value[ORACLE_FACTORS];
} oracle_case_t;

/** A required case: `keep` selects by bits the factors that are fixed. */
typedef struct oracle_way {
    oracle_case_t c;
    unsigned keep;
} oracle_way_t;

typedef struct oracle_space {
    unsigned factors;
    uint8_t values[ORACLE_FACTORS]; /* number of values of each */
    bool (*valid)(const oracle_case_t *c);
    /** Valid cases; any two compatible values occur together in one of them. */
    const oracle_case_t *base;
    size_t bases;
    const oracle_way_t *way; /* valid ones */
    size_t ways;
    /** Further required cases, for the second sort of layouts only. */
    const oracle_way_t *more;
    size_t mores;
    /** Called after `factor` was drawn: draws dependent factors except those in
     * `keep`. NULL: nothing. */
    void (*follow)(oracle_case_t *c, unsigned factor, unsigned keep,
                   uint64_t *random);
} oracle_space_t;

/** A set that contains every compatible pair of values and every required case.
 * The same on all ranks; the caller frees it.
 * @param[out] first the number of cases without those for `more` */
oracle_case_t *oracle_cover(const oracle_space_t *space, size_t *count,
                            size_t *first);
/** The number of compatible pairs of values and of required cases that a set
 * lacks. */
size_t oracle_uncovered(const oracle_space_t *space, const oracle_case_t *set,
                        size_t count);

/** Layouts, as far as dealing needs them. */
typedef struct oracle_deal {
    unsigned layouts;
    const unsigned *cost; /* [layouts] of a case */
    const bool *second;   /* [layouts] each case runs on one of each sort */
    const bool *rare; /* [layouts] has no more than what meets every value */
    /** Whether the ranks of a layout can run a case. */
    bool (*fits)(const oracle_case_t *c, unsigned layout);
} oracle_deal_t;

/** The layouts of each case, by bits: the `first` cases run on both sorts. The
 * caller frees it. */
uint32_t *oracle_deal(const oracle_space_t *space, const oracle_deal_t *deal,
                      const oracle_case_t *set, size_t count, size_t first);
/** The number of feasible pairs of value and layout without a dealt case. */
size_t oracle_undealt(const oracle_space_t *space, const oracle_deal_t *deal,
                      const oracle_case_t *set, const uint32_t *dealt,
                      size_t count);

#endif
