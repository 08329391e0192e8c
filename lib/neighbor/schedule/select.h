#ifndef CTN_NEIGHBOR_SCHEDULE_SELECT_H
#define CTN_NEIGHBOR_SCHEDULE_SELECT_H

#include "neighbor/neighborhood.h"

/* Which plan an operation runs: the one that is estimated to take least, by
 * facts that all ranks have agreed on. */

/** What things cost, in ns; by reach. */
typedef struct ctn_neighbor_costs {
    double round[CTN_REACHES];   /* until what is sent can be worked on */
    double message[CTN_REACHES]; /* work at both ends together */
    double byte[CTN_REACHES];
    double
        packed;   /* for each byte that shares a message: copied at both ends */
    double turn;  /* until a rank that shares its core runs again, for each of
                     those it shares it with */
    double share; /* ranks of a core, at least 1 */
} ctn_neighbor_costs_t;

/** Lengths of blocks, by powers of two. */
#define CTN_NEIGHBOR_SIZES 41u

/** A plan in numbers, which stay when it is dropped. */
typedef struct ctn_schedule_outline {
    bool possible;
    size_t most_bytes; /* of a block */
    uint32_t rounds;
    uint32_t heavy_rounds;
    ctn_schedule_facts_t facts;
} ctn_schedule_outline_t;

/** What is known of blocks: they may be of any length, or are to be combined;
 * or they are all alike and go where they belong, for which an algorithm may
 * have another plan. */
typedef enum ctn_block_class {
    CTN_BLOCKS_ANY,
    CTN_BLOCKS_UNIFORM,
    CTN_BLOCK_CLASSES
} ctn_block_class_t;

typedef struct ctn_chooser {
    ctn_neighbor_costs_t costs;
    size_t usual; /* bytes of a block where nobody says how many */
    bool
        tried[CTN_NEIGHBOR_ALGORITHMS]; /* whether they are possible is known */
    ctn_schedule_outline_t outline[CTN_NEIGHBOR_ALGORITHMS][CTN_PATTERNS];
    ctn_schedule_outline_t uniform[CTN_NEIGHBOR_ALGORITHMS]
                                  [CTN_PATTERNS]; /* of those other plans */
    /* What is best for blocks of 2^(i-1) to 2^i - 1 bytes. */
    uint8_t algorithm[CTN_BLOCK_CLASSES][CTN_PATTERNS][CTN_NEIGHBOR_SIZES];
} ctn_chooser_t;

/** What an exchange of blocks of so many bytes takes, in ns. */
double ctn_schedule_estimate(const catena_neighborhood_t *neighborhood,
                             const ctn_schedule_outline_t *outline,
                             size_t bytes);

/** What is known of blocks of so many bytes; 0: of any.
 * @param combined as for ctn_neighbor_choose */
ctn_block_class_t ctn_blocks_classify(const catena_neighborhood_t *neighborhood,
                                      size_t bytes, bool combined);

/** The outline of the plan that an algorithm has for blocks of so many bytes.
 */
const ctn_schedule_outline_t *
ctn_schedule_outline_for(const catena_neighborhood_t *neighborhood,
                         ctn_neighbor_algorithm_t algorithm,
                         ctn_pattern_t pattern, ctn_block_class_t blocks,
                         size_t bytes);

/** Why an algorithm that was tried is not possible; NULL: it is. */
const char *
ctn_neighbor_algorithm_refusal(const catena_neighborhood_t *neighborhood,
                               ctn_neighbor_algorithm_t algorithm);

/** Whether operations of a neighborhood use the pattern. */
bool ctn_pattern_is_used(const catena_neighborhood_t *neighborhood,
                         ctn_pattern_t pattern);

/** Make the plans of a scheme that are not there yet, as far as they are
 * possible. Collective. */
catena_status_t ctn_schedules_make_for(catena_neighborhood_t *neighborhood,
                                       ctn_neighbor_algorithm_t algorithm);

/** Make the plans of the scheme that is wanted, or of all that may be best,
 * and find out which is. Collective. */
catena_status_t
ctn_schedules_make_candidates(catena_neighborhood_t *neighborhood);

#endif
