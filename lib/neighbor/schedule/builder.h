#ifndef CTN_NEIGHBOR_SCHEDULE_BUILDER_H
#define CTN_NEIGHBOR_SCHEDULE_BUILDER_H

#include "neighbor/create/vector.h"

/* A plan while it is put together: messages in any order of rounds, parts as
 * they come. Running out of memory is remembered and told at the end, where all
 * ranks agree on it, so that builders need not look at every step. */

typedef struct ctn_sketch {
    catena_neighborhood_t *neighborhood;
    ctn_pile_t send, receive; /* ctn_message_t */
    ctn_pile_t *last;         /* the one of them that was added to last */
    ctn_pile_t transfer;      /* ctn_transfer_t */
    ctn_pile_t part;          /* ctn_part_t */
    ctn_pile_t heavy;         /* uint32_t: rounds; may name one several times */
    /* The messages have links of their own, i-th with i-th: these are the ranks
     * they lead to and come from (uint32_t). Else they take the edges'. */
    bool own_links;
    ctn_pile_t to, from;
    uint32_t stages;
    uint32_t rounds;
    catena_status_t status; /* first error */
} ctn_sketch_t;

/** Which end of a message this rank is. */
typedef enum ctn_way_of { CTN_SENDS, CTN_RECEIVES } ctn_end_t;

/** Begin a message; its parts follow.
 * @param peer its link, or with links of its own the rank */
void ctn_sketch_message(ctn_sketch_t *sketch, ctn_end_t way, uint32_t peer,
                        uint32_t round);
/** The next part of the message that was begun last.
 * @param weight of an edge that it is for */
void ctn_sketch_part(ctn_sketch_t *sketch, ctn_part_t part, int weight);
void ctn_sketch_transfer(ctn_sketch_t *sketch, ctn_part_t from, ctn_part_t to,
                         uint32_t round);
/** A block to pass on. */
static inline ctn_part_t ctn_sketch_stage(ctn_sketch_t *sketch)
{
    return (ctn_part_t){CTN_OF_STAGE, sketch->stages++};
}

/** Make it a plan, with its facts. All ranks agree on the status, on the
 * number of rounds, and on whether one of them finds it impossible: then *plan
 * is NULL. The sketch is dropped. Collective.
 * @param[out] plan in step; free with ctn_plan_free */
catena_status_t ctn_sketch_finish(ctn_sketch_t *sketch, ctn_scheme_t scheme,
                                  ctn_pattern_t pattern, bool impossible,
                                  ctn_plan_t **plan);

/** Agree on what a plan takes, once its links are there, and whether memory
 * was there for it. Collective. */
catena_status_t ctn_plan_weigh(const catena_neighborhood_t *neighborhood,
                               ctn_plan_t *plan);

#endif
