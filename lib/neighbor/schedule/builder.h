#ifndef CTN_NEIGHBOR_SCHEDULE_BUILDER_H
#define CTN_NEIGHBOR_SCHEDULE_BUILDER_H

#include "core/vector.h"
#include "neighbor/neighborhood.h"

/** This rank's end of a message. */
typedef enum ctn_message_end { CTN_SENDS, CTN_RECEIVES } ctn_message_end_t;

/** A schedule under construction. Messages may be added in any order of rounds,
 * the blocks of a message directly after it, in order. When memory runs out,
 * `status` keeps that until ctn_schedule_builder_finish, where all ranks agree
 * on it; so callers need not check every step. */
typedef struct ctn_schedule_builder {
    catena_neighborhood_t *neighborhood;
    ctn_vector_t send, receive; /* ctn_schedule_message_t */
    ctn_vector_t *last;      /* `send` or `receive`: holds the last message */
    ctn_vector_t local_copy; /* ctn_local_copy_t */
    ctn_vector_t block;      /* ctn_block_ref_t */
    ctn_vector_t heavy;      /* uint32_t: rounds with a block of an edge of
                                the greatest weight; may repeat */
    /* The i-th send has a link of its own to rank to[i], and the i-th receive
     * one from rank from[i] (ctn_edge_key_t). False: messages use the links of
     * the edges. */
    bool own_links;
    ctn_vector_t to, from;
    uint32_t staged; /* number of staged blocks */
    uint32_t rounds; /* set by the caller */
    /* By ctn_message_end_t: what this rank sends and receives besides the
     * messages of the schedule; see ctn_schedule_facts_t. */
    uint64_t counts[2][CTN_COUNTS];
    catena_status_t status; /* this rank's */
} ctn_schedule_builder_t;

/** Begins a message; its blocks follow.
 * @param way  whether this rank sends or receives it
 * @param peer with own_links the peer's rank, else the index of the link */
void ctn_schedule_builder_message(ctn_schedule_builder_t *builder,
                                  ctn_message_end_t way, uint32_t peer,
                                  uint32_t round);
/** Appends a block to the last message.
 * @param weight the greatest of the edges that the block is for */
void ctn_schedule_builder_block(ctn_schedule_builder_t *builder,
                                ctn_block_ref_t block, int weight);
/** Edges of this rank. */
typedef enum ctn_edges {
    CTN_EDGES_LOCAL, /* with ranks on this node */
    CTN_EDGES_ALL,
    CTN_EDGES_COLORED, /* all, each in the round edge->round */
} ctn_edges_t;

/** Adds a message of one block for each of these edges, in round 0 unless they
 * are colored, and local copies for edges from this rank to itself. */
void ctn_schedule_builder_edges(ctn_schedule_builder_t *builder,
                                ctn_pattern_t pattern, ctn_edges_t edges);
/** Adds a local copy. */
void ctn_schedule_builder_local_copy(ctn_schedule_builder_t *builder,
                                     ctn_block_ref_t from, ctn_block_ref_t to,
                                     uint32_t round);
/** Chooses where a block of this source goes that arrives with those of other
 * sources in one: to the receive buffer, for the first source; a local copy
 * follows it there for each further one.
 * @param round        of the local copy
 * @param[in,out] from where the block lies; a staged block: not chosen yet */
void ctn_schedule_builder_receive(ctn_schedule_builder_t *builder,
                                  uint32_t source, uint32_t round,
                                  ctn_block_ref_t *from);
/** A new staged block. */
static inline ctn_block_ref_t
ctn_schedule_builder_staged(ctn_schedule_builder_t *builder)
{
    return (ctn_block_ref_t){CTN_BLOCK_STAGED, builder->staged++};
}

/** Makes a schedule without links and facts of what was added, and drops the
 * builder. NULL: no memory. */
ctn_schedule_t *ctn_schedule_builder_pack(ctn_schedule_builder_t *builder);

/** Makes the schedule, with its links and facts, and drops the builder. All
 * ranks agree on the status and on the number of rounds. Collective.
 * @param impossible    this rank finds that the algorithm cannot be used; then
 *                      *schedule is NULL on all ranks
 * @param[out] schedule with `in_step` set; free with ctn_schedule_free */
catena_status_t ctn_schedule_builder_finish(ctn_schedule_builder_t *builder,
                                            ctn_neighbor_algorithm_t algorithm,
                                            ctn_pattern_t pattern,
                                            bool impossible,
                                            ctn_schedule_t **schedule);

#endif
