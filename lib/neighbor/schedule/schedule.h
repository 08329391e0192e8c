#ifndef CTN_NEIGHBOR_SCHEDULE_SCHEDULE_H
#define CTN_NEIGHBOR_SCHEDULE_SCHEDULE_H

#include "neighbor/link/link.h"

/* What a rank does in one exchange: which messages it sends and receives, what
 * they are made of, and in which round. Algorithms are builders of plans; one
 * executor (call/executor.c) runs them all, for all operations. */

/** What is exchanged. */
typedef enum ctn_pattern {
    CTN_PATTERN_ALLTOALL, /* target i gets block i of the send buffer */
    CTN_PATTERN_GATHER,   /* all targets get the one block */
    CTN_PATTERNS
} ctn_pattern_t;

/** A block, named by where it lies. */
typedef enum ctn_block_location {
    CTN_BLOCK_SEND,  /* block `index` of the send buffer: by target, or 0 */
    CTN_BLOCK_RECV,  /* block `index` of the receive buffer: by source */
    CTN_BLOCK_STAGED /* block `index` of those passed on for others */
} ctn_block_location_t;

typedef struct ctn_block_ref {
    ctn_block_location_t of;
    uint32_t index;
} ctn_block_ref_t;

/** parts[first] to parts[first + count - 1], through links out[link] or
 * in[link]. A message sent in a round is made of what was there before the
 * first round, and of what earlier rounds have received. */
typedef struct ctn_schedule_message {
    uint32_t link;
    uint32_t round;
    uint32_t first;
    uint32_t count;
} ctn_schedule_message_t;

/** Blocks that are here when a round begins, or after the last one (then
 * `round` is their number): copied without a message. From CTN_BLOCK_SEND or
 * CTN_BLOCK_STAGED, or CTN_BLOCK_RECV received in an earlier round. */
typedef struct ctn_local_copy {
    ctn_block_ref_t from;
    ctn_block_ref_t to;
    uint32_t round;
} ctn_local_copy_t;

/** How far a message goes. */
enum {
    CTN_LOCAL /* on the node */,
    CTN_REMOTE /* between nodes */,
    CTN_REACHES
};

/** What a plan takes, over all ranks: agreed when it was made. */
typedef struct ctn_schedule_facts {
    uint64_t messages[CTN_REACHES];      /* sent by all ranks together */
    uint64_t blocks[CTN_REACHES];        /* in them */
    uint64_t most_messages[CTN_REACHES]; /* that a rank sends or receives */
    uint64_t most_blocks[CTN_REACHES];
    uint64_t packed; /* those of the blocks that share messages */
    uint64_t most_packed;
    uint64_t contributed; /* blocks, to bundles */
    uint64_t most_contributed;
    uint32_t remote_rounds; /* with messages between nodes */
} ctn_schedule_facts_t;

typedef struct ctn_schedule {
    const char *algorithm; /* its name */
    ctn_pattern_t pattern;
    ctn_schedule_facts_t facts; /* schedule/select.c */
    uint32_t rounds;            /* the same on all ranks */
    uint32_t heavy_rounds;      /* likewise */
    /* A rank begins round r when it has received all of rounds below r. Else
     * rounds only order what is sent: all may be under way at once. */
    bool in_step;
    /* Blocks go through other ranks, maybe; the same on all ranks. Then every
     * message is sent, also one without a byte, and where blocks may differ in
     * length a message says how long its parts are. */
    bool forwards;
    uint32_t staged; /* blocks passed on by this rank */
    uint32_t sends, receives, local_copies;
    ctn_schedule_message_t *send;    /* by round */
    ctn_schedule_message_t *receive; /* by round */
    ctn_local_copy_t *local_copy;    /* by round */
    ctn_block_ref_t *block;
    uint32_t blocks;
    /* The ends of its links: the edges' own (neighborhood->out, in), or others
     * that the plan has. */
    ctn_link_out_t *out;
    ctn_link_in_t *in;
    uint32_t outs, ins;
    bool owns_links;
    void *memory; /* in the heap, of links that it owns, else NULL */
    struct ctn_neighbor_aggregates *aggregates; /* what goes to other nodes
                                    beside messages; NULL: nothing */
    /* Of a persistent request: the plan that this is, through links of its own;
     * or it connects these. */
    const struct ctn_schedule *copy_of;
    bool is_hello;
    struct ctn_schedule *uniform; /* another one of this algorithm, for blocks
                               that are all alike and not combined; or NULL */
} ctn_schedule_t;

/** A plan whose arrays have room for so many, and as many are said to be in
 * them; all else is 0. NULL: no memory. */
ctn_schedule_t *ctn_schedule_create(uint32_t sends, uint32_t receives,
                                    uint32_t local_copies, uint32_t blocks);
/** NULL: nothing. The links that it owns go with it, but not the memory in the
 * shared heap that they and bundles lie in, and not `alike`. */
void ctn_schedule_free(ctn_schedule_t *schedule);

/** Rounds, one after the other: before blocks are read in bundles all have to
 * be added. */
uint32_t ctn_schedule_rounds(const ctn_schedule_t *schedule);
/** Messages that a rank sends. A bundle, which the last one sends that adds to
 * it, counts at the rank where it is put together. */
uint32_t ctn_schedule_messages(const ctn_schedule_t *schedule);

#endif
