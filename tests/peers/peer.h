#ifndef PEER_H
#define PEER_H

#include <stdbool.h>
#include <stddef.h>

/* One measurement for several libraries: measure.c is the loop, side_*.c the
 * calls of one library. All are built from the same loop, so that they differ
 * only in the library. */

/* The collectives of calls.def, of which a side may lack some, and two more. Of
 * reduce_scatter blocks of one length are measured; those of neighborhoods are
 * to and from the neighbors in a mesh. */
enum peer_kind {
    PEER_SPLIT,
#define CTN_ANY(NAME, ...) PEER_##NAME,
#include "core/calls.def"
    PEER_NEIGHBOR_ALLTOALL_INIT, /* restarted each time */
    PEER_KINDS
};

/* A mesh has two dimensions and open borders; ranks count along its rows.
 * Neighbors are in MPI's order: above, below, left, right. */
enum { PEER_DIMS = 2, PEER_NEIGHBORS = 2 * PEER_DIMS, PEER_NULL = -1 };

/** The part of a buffer that is sent to, or received from, one rank. A block of
 * PEER_NULL has a position but is not transferred. */
struct peer_block {
    size_t offset;    /* of the first row, in bytes */
    size_t rows;      /* 1: contiguous */
    size_t row_bytes; /* 0: nothing is exchanged */
    size_t stride;    /* from row to row, in bytes */
};

/** One collective at one size, as every side sees it. Reduced vectors are sums
 * of doubles. A bcast uses `recv`. */
struct peer_call {
    const char *collective;
    enum peer_kind kind;
    int rank, size, root;
    int dims[PEER_DIMS];            /* of the mesh */
    int partners;                   /* all ranks, or neighbors */
    size_t bytes;                   /* of a block, on average; of a vector */
    const struct peer_block *sends; /* [partners]: to and from each */
    const struct peer_block *recvs; /* [partners] */
    size_t row_length;              /* of the arrays that contain the blocks */
    unsigned char *send, *recv;
    int color, key;         /* split: of this rank, in this call */
    int new_rank, new_size; /* split: the result, from peer_finish */
    void *prepared;         /* owned by the side */
};

/** Name of the library, for the table. */
extern const char *const peer_name;

void peer_start(int *argc, char ***argv, int *rank, int *size);
void peer_stop(void);
void peer_abort(const char *what);
void peer_barrier(void);
/** The library's mesh dimensions for this number of ranks. */
void peer_choose_dims(int size, int dims[PEER_DIMS]);
/** Allgather of a value; [size]. */
void peer_gather(double value, double *all, int size);
void *peer_alloc(size_t bytes);
void peer_free(void *block);

/** Prepare what a program keeps between calls: counts, types.
 * @return false if this side lacks the collective */
bool peer_prepare(struct peer_call *call);
/** The call; for a split including the first barrier of the new group. */
void peer_run(struct peer_call *call);
/** After a split, outside the timed part: query the group and free it. */
void peer_finish(struct peer_call *call);
void peer_release(struct peer_call *call);

#endif
