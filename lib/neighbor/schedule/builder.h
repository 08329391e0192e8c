#ifndef CTN_NEIGHBOR_SCHEDULE_BUILDER_H
#define CTN_NEIGHBOR_SCHEDULE_BUILDER_H

#include "core/vector.h"
#include "neighbor/neighborhood.h"

/* A schedule under construction: messages in any order of rounds, their blocks
 * in order. An out of memory error is kept until the end, when all ranks agree
 * on it, so callers need not check every step. */

typedef struct ctn_schedule_builder {
    catena_neighborhood_t *neighborhood;
    ctn_vector_t send, receive; /* ctn_schedule_message_t */
    ctn_vector_t *last;         /* the vector that was appended to last */
    ctn_vector_t local_copy;    /* ctn_local_copy_t */
    ctn_vector_t block;         /* ctn_block_ref_t */
    ctn_vector_t heavy;         /* uint32_t: rounds, maybe several times each */
    /* The messages have links of their own, the i-th message the i-th link: the
     * ranks (uint32_t) at the other ends. Else they use the links of the edges.
     */
    bool own_links;
    ctn_vector_t to, from;
    uint32_t staged;
    uint32_t rounds;
    catena_status_t status; /* first error */
} ctn_schedule_builder_t;

/** This rank's end of a message. */
typedef enum ctn_message_end { CTN_SENDS, CTN_RECEIVES } ctn_message_end_t;

/** Begins a message; its blocks follow.
 * @param peer its link, or with links of its own the rank */
void ctn_schedule_builder_message(ctn_schedule_builder_t *builder,
                                  ctn_message_end_t way, uint32_t peer,
                                  uint32_t round);
/** Appends a block to the last message.
 * @param weight of the edge that it is for */
void ctn_schedule_builder_block(ctn_schedule_builder_t *builder,
                                ctn_block_ref_t block, int weight);
void ctn_schedule_builder_local_copy(ctn_schedule_builder_t *builder,
                                     ctn_block_ref_t from, ctn_block_ref_t to,
                                     uint32_t round);
/** A block to be forwarded. */
static inline ctn_block_ref_t
ctn_schedule_builder_staged(ctn_schedule_builder_t *builder)
{
    return (ctn_block_ref_t){CTN_BLOCK_STAGED, builder->staged++};
}

/** Makes the schedule, with its facts. All ranks agree on the status, on the
 * number of rounds, and on whether one of them finds it impossible: then
 * *schedule is NULL. The builder is dropped. Collective.
 * @param[out] schedule in step; free with ctn_schedule_free */
catena_status_t ctn_schedule_builder_finish(ctn_schedule_builder_t *builder,
                                            ctn_neighbor_algorithm_t algorithm,
                                            ctn_pattern_t pattern,
                                            bool impossible,
                                            ctn_schedule_t **schedule);

/** Agrees on what a schedule takes, once its links are set. Collective. */
catena_status_t
ctn_schedule_agree_facts(const catena_neighborhood_t *neighborhood,
                         ctn_schedule_t *schedule);

#endif
