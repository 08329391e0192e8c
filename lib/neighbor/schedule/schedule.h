#ifndef CTN_NEIGHBOR_SCHEDULE_SCHEDULE_H
#define CTN_NEIGHBOR_SCHEDULE_SCHEDULE_H

#include "neighbor/link/link.h"

/* A schedule: which messages a rank sends and receives in one operation, which
 * blocks they contain, and in which round. Each algorithm has a schedule
 * builder; one executor (call/executor.c) runs all schedules, for all
 * collectives on neighborhoods. */

/** The algorithms; see schedule/select.c. */
typedef enum ctn_neighbor_algorithm {
    CTN_NEIGHBOR_DIRECT,
    CTN_NEIGHBOR_COLORED,
    CTN_NEIGHBOR_COMBINING,
    CTN_NEIGHBOR_AGGREGATED,
    CTN_NEIGHBOR_ALGORITHMS
} ctn_neighbor_algorithm_t;

/** What is exchanged. */
typedef enum ctn_pattern {
    CTN_PATTERN_ALLTOALL,  /* target i gets block i of the send buffer */
    CTN_PATTERN_ALLGATHER, /* all targets get the same block */
    CTN_PATTERNS
} ctn_pattern_t;

/** Where a block lies. */
typedef enum ctn_block_location {
    CTN_BLOCK_SEND,  /* send buffer; index: the target, or 0 for allgather */
    CTN_BLOCK_RECV,  /* receive buffer; index: the source */
    CTN_BLOCK_STAGED /* staged blocks, which this rank only forwards; index:
                        in their order */
} ctn_block_location_t;

/** A block reference. */
typedef struct ctn_block_ref {
    ctn_block_location_t of;
    uint32_t index;
} ctn_block_ref_t;

/** A message: its blocks are schedule->block[first] to block[first + count -
 * 1]. The blocks of a message sent in a round were there before the first
 * round, or were received in earlier rounds. */
typedef struct ctn_schedule_message {
    uint32_t link; /* index in schedule->out or in schedule->in */
    uint32_t round;
    uint32_t first;
    uint32_t count;
} ctn_schedule_message_t;

/** A copy of a block on this rank, at the beginning of a round; after the last
 * round if `round` is the number of rounds. `from` is in the send buffer, or
 * was received in an earlier round. */
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

/** What is counted of a schedule. Messages and blocks by their reach. */
enum {
    CTN_COUNT_MESSAGES,
    CTN_COUNT_BLOCKS = CTN_COUNT_MESSAGES + CTN_REACHES, /* in these messages */
    CTN_COUNT_PACKED = CTN_COUNT_BLOCKS + CTN_REACHES, /* blocks in messages of
                                                          several blocks */
    CTN_COUNT_CONTRIBUTED, /* blocks added to aggregates */
    CTN_COUNTS
};

/** Schedule facts, on which all ranks agreed at its creation. */
typedef struct ctn_schedule_facts {
    bool possible;
    uint32_t rounds;        /* aggregates add one: blocks are contributed before
                               they are consumed */
    uint32_t heavy_rounds;  /* with blocks of edges of the greatest weight */
    uint32_t remote_rounds; /* with messages between nodes */
    size_t most_bytes;      /* longest block that it can carry */
    uint64_t all[CTN_COUNTS];  /* of all ranks together */
    uint64_t most[CTN_COUNTS]; /* the greatest number that one rank sends, or
                                  that one rank receives */
} ctn_schedule_facts_t;

/** The schedule of one algorithm and pattern, on one rank. */
typedef struct ctn_schedule {
    ctn_neighbor_algorithm_t algorithm;
    ctn_pattern_t pattern;
    ctn_schedule_facts_t facts; /* for the choice, schedule/select.c */
    uint32_t rounds;            /* the same on all ranks */
    /* A rank begins round r when it has received all messages of rounds below
     * r. Otherwise rounds only order the sends: all may be under way at once.
     */
    bool in_step;
    /* Blocks may go through other ranks; the same on all ranks. Then every
     * message is sent, also an empty one, and if blocks may differ in length a
     * message carries the lengths of its blocks. */
    bool forwards;
    uint32_t staged; /* number of staged blocks */
    uint32_t sends, receives, local_copies;
    ctn_schedule_message_t *send;    /* [sends] by round */
    ctn_schedule_message_t *receive; /* [receives] by round */
    ctn_local_copy_t *local_copy;    /* [local_copies] by round */
    ctn_block_ref_t *block;          /* [blocks] of all messages */
    uint32_t blocks;
    /* Its link ends: those of the edges (neighborhood->out, in), or its own. */
    ctn_link_out_t *out;
    ctn_link_in_t *in;
    uint32_t outs, ins;
    bool owns_links;
    void *memory; /* of its own links, in the heap; else NULL */
    struct ctn_neighbor_aggregates *aggregates; /* carry the blocks for other
                                                   nodes; NULL: messages do */
    /* For persistent requests (call/persistent.c). */
    const struct ctn_schedule *copy_of; /* the neighborhood's schedule of which
                                           this is a request's copy, or NULL */
    bool is_hello;                      /* it connects the links of a request */
    /* The schedule of this algorithm for uniform blocks that are not reduced,
     * if it differs from this one; else NULL. */
    struct ctn_schedule *uniform;
} ctn_schedule_t;

/** Frees a schedule and its own links, but not the memory of links and
 * aggregates in the shared heap, and not `uniform`. NULL: nothing. */
void ctn_schedule_free(ctn_schedule_t *schedule);

#endif
