#ifndef CTN_NEIGHBOR_SCHEDULE_BUILDER_H
#define CTN_NEIGHBOR_SCHEDULE_BUILDER_H

#include "neighbor/create/vector.h"

/* A plan while it is put together: messages in any order of rounds, parts as
 * they come. Running out of memory is remembered and told at the end, where all
 * ranks agree on it, so that builders need not look at every step. */

typedef struct ctn_schedule_builder {
    catena_neighborhood_t *neighborhood;
    ctn_vector_t send, receive; /* ctn_schedule_message_t */
    ctn_vector_t *last;         /* the one of them that was added to last */
    ctn_vector_t local_copy;    /* ctn_local_copy_t */
    ctn_vector_t block;         /* ctn_block_ref_t */
    ctn_vector_t heavy; /* uint32_t: rounds; may name one several times */
    /* The messages have links of their own, i-th with i-th: these are the ranks
     * they lead to and come from (uint32_t). Else they take the edges'. */
    bool own_links;
    ctn_vector_t to, from;
    uint32_t staged;
    uint32_t rounds;
    catena_status_t status; /* first error */
} ctn_schedule_builder_t;

/** Which end of a message this rank is. */
typedef enum ctn_message_end { CTN_SENDS, CTN_RECEIVES } ctn_message_end_t;

/** Begin a message; its parts follow.
 * @param peer its link, or with links of its own the rank */
void ctn_schedule_builder_message(ctn_schedule_builder_t *builder,
                                  ctn_message_end_t way, uint32_t peer,
                                  uint32_t round);
/** The next part of the message that was begun last.
 * @param weight of an edge that it is for */
void ctn_schedule_builder_block(ctn_schedule_builder_t *builder,
                                ctn_block_ref_t block, int weight);
void ctn_schedule_builder_local_copy(ctn_schedule_builder_t *builder,
                                     ctn_block_ref_t from, ctn_block_ref_t to,
                                     uint32_t round);
/** A block to pass on. */
static inline ctn_block_ref_t
ctn_schedule_builder_staged(ctn_schedule_builder_t *builder)
{
    return (ctn_block_ref_t){CTN_BLOCK_STAGED, builder->staged++};
}

/** Make it a plan, with its facts. All ranks agree on the status, on the
 * number of rounds, and on whether one of them finds it impossible: then *plan
 * is NULL. The sketch is dropped. Collective.
 * @param[out] plan in step; free with ctn_schedule_free */
catena_status_t ctn_schedule_builder_finish(ctn_schedule_builder_t *builder,
                                            ctn_neighbor_algorithm_t algorithm,
                                            ctn_pattern_t pattern,
                                            bool impossible,
                                            ctn_schedule_t **schedule);

/** Agree on what a plan takes, once its links are there, and whether memory
 * was there for it. Collective. */
catena_status_t
ctn_schedule_agree_facts(const catena_neighborhood_t *neighborhood,
                         ctn_schedule_t *schedule);

#endif
