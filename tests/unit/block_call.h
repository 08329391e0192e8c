#ifndef UNIT_BLOCK_CALL_H
#define UNIT_BLOCK_CALL_H

#include "words.h"

/* One collective of blocks, drawn, run, and checked in every byte of its
 * buffers against what each rank is known to give. */

typedef enum block_which {
    GATHER,
    GATHERV,
    SCATTER,
    SCATTERV,
    ALLGATHER,
    ALLGATHERV,
    REDUCE_SCATTER,
    REDUCE_SCATTER_BLOCK,
    KINDS
} block_which_t;

typedef struct block_call {
    job_t *job;
    catena_group_t *group;
    uint32_t rank; /* in it */
    uint32_t size;
    block_which_t which;
    uint64_t salt;
    size_t count; /* of each block, or the most */
    uint32_t root;
    bool in_place;
    bool one_spread; /* this rank's block */
    bool all_spread; /* those of all ranks */
    bool shuffled;   /* those lie in another order, with gaps between them */
    bool sum;        /* else an operation that does not commute */
    size_t *counts;
    ptrdiff_t *displacements;
    size_t ones; /* words of `one`, gaps included, and one behind */
    size_t alls;
    uint64_t *one;
    uint64_t *all;
    catena_request_t *request;
} block_call_t;

/** "gather", "gatherv", ... */
extern const char *const block_names[];

/** Whether it combines what ranks give. */
bool block_reduces(const block_call_t *call);

/** Draw what all ranks of the group agree on, and what they need not; with
 * buffers, some in the shared heap, some elsewhere. */
void block_draw(block_call_t *call, job_t *job, catena_group_t *group,
                uint64_t *random);
void block_release(block_call_t *call);

/** What this rank gives. */
void block_fill(block_call_t *call);
/** Run it, or make call->request. Types and the operation are freed before this
 * returns. */
catena_status_t block_run(block_call_t *call, form_t form);
/** Compare its buffers, gaps included. */
void block_check(const block_call_t *call);

#endif
