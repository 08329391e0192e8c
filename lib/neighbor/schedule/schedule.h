#ifndef CTN_NEIGHBOR_SCHEDULE_SCHEDULE_H
#define CTN_NEIGHBOR_SCHEDULE_SCHEDULE_H

#include "neighbor/link/link.h"

/* A schedule: which messages a rank sends and receives in one exchange, which
 * blocks they contain, and in which round. Algorithms build schedules; one
 * executor (call/executor.c) runs them all, for all operations. */

/** What is exchanged. */
typedef enum ctn_pattern {
    CTN_PATTERN_ALLTOALL,  /* target i gets block i of the send buffer */
    CTN_PATTERN_ALLGATHER, /* all targets get the same block */
    CTN_PATTERNS
} ctn_pattern_t;

/** Where a block lies. */
typedef enum ctn_block_location {
    CTN_BLOCK_SEND,  /* block `index` of the send buffer: by target, or 0 */
    CTN_BLOCK_RECV,  /* block `index` of the receive buffer: by source */
    CTN_BLOCK_STAGED /* block `index` of those to be forwarded */
} ctn_block_location_t;

typedef struct ctn_block_ref {
    ctn_block_location_t of;
    uint32_t index;
} ctn_block_ref_t;

/** block[first] to block[first + count - 1], through links out[link] or
 * in[link]. The blocks of a message sent in a round were there before the first
 * round, or were received in earlier rounds. */
typedef struct ctn_schedule_message {
    uint32_t link;
    uint32_t round;
    uint32_t first;
    uint32_t count;
} ctn_schedule_message_t;

/** A copy without a message, at the begin of a round, or after the last one
 * (then `round` is their number). From CTN_BLOCK_SEND or CTN_BLOCK_STAGED, or
 * CTN_BLOCK_RECV received in an earlier round. */
typedef struct ctn_local_copy {
    ctn_block_ref_t from;
    ctn_block_ref_t to;
    uint32_t round;
} ctn_local_copy_t;

/** The reach of a message. */
enum {
    CTN_LOCAL /* on the node */,
    CTN_REMOTE /* between nodes */,
    CTN_REACHES
};

/** What a schedule takes, over all ranks: agreed at its creation. */
typedef struct ctn_schedule_facts {
    uint64_t messages[CTN_REACHES];      /* sent by all ranks together */
    uint64_t blocks[CTN_REACHES];        /* in them */
    uint64_t most_messages[CTN_REACHES]; /* that one rank sends or receives */
    uint64_t most_blocks[CTN_REACHES];
    uint64_t packed; /* blocks that share messages */
    uint64_t most_packed;
    uint64_t contributed; /* blocks, to aggregates */
    uint64_t most_contributed;
    uint32_t remote_rounds; /* with messages between nodes */
} ctn_schedule_facts_t;

typedef struct ctn_schedule {
    const char *algorithm; /* its name */
    ctn_pattern_t pattern;
    ctn_schedule_facts_t facts; /* schedule/select.c */
    uint32_t rounds;            /* the same on all ranks */
    uint32_t heavy_rounds;      /* likewise */
    /* A rank begins round r when it has received all messages of rounds below
     * r. Otherwise rounds only order the sends: all may be under way at once.
     */
    bool in_step;
    /* Blocks may go through other ranks; the same on all ranks. Then every
     * message is sent, also an empty one, and if blocks may differ in length a
     * message carries the lengths of its blocks. */
    bool forwards;
    uint32_t staged; /* blocks forwarded by this rank */
    uint32_t sends, receives, local_copies;
    ctn_schedule_message_t *send;    /* by round */
    ctn_schedule_message_t *receive; /* by round */
    ctn_local_copy_t *local_copy;    /* by round */
    ctn_block_ref_t *block;
    uint32_t blocks;
    /* Its link ends: those of the edges (neighborhood->out, in), or its own. */
    ctn_link_out_t *out;
    ctn_link_in_t *in;
    uint32_t outs, ins;
    bool owns_links;
    void *memory; /* in the heap, of its own links, else NULL */
    struct ctn_neighbor_aggregates *aggregates; /* messages to other nodes
                                                   besides these; NULL: none */
    /* Of a persistent request: the original of a schedule with links of its
     * own; or it connects these. */
    const struct ctn_schedule *copy_of;
    bool is_hello;
    struct ctn_schedule *uniform; /* the schedule of this algorithm for
                                     uniform blocks that are not reduced, or
                                     NULL */
} ctn_schedule_t;

/** A schedule with arrays of these sizes, and these counts; all else is 0.
 * NULL: no memory. */
ctn_schedule_t *ctn_schedule_create(uint32_t sends, uint32_t receives,
                                    uint32_t local_copies, uint32_t blocks);
/** Frees a schedule and its own links, but not the memory of links and
 * aggregates in the shared heap, and not `uniform`. NULL: nothing. */
void ctn_schedule_free(ctn_schedule_t *schedule);

/** Rounds, one after the other. Aggregates add one: blocks are contributed
 * before they are consumed. */
uint32_t ctn_schedule_rounds(const ctn_schedule_t *schedule);
/** Messages that a rank sends. An aggregate, which its last contributor sends,
 * counts at its leader. */
uint32_t ctn_schedule_messages(const ctn_schedule_t *schedule);

#endif
