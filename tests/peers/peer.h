#ifndef PEER_H
#define PEER_H

#include <stdbool.h>
#include <stddef.h>

/* One measurement, several libraries: measure.c is the loop, side_*.c the
 * calls of one library. Both sides are built from the same loop, so that only
 * the library differs. */

enum peer_kind {
    PEER_ALLTOALL,
    PEER_ALLTOALLV,
    PEER_ALLTOALLW,
    PEER_SPLIT,
    PEER_BARRIER,
    PEER_BCAST,
    PEER_REDUCE,
    PEER_ALLREDUCE,
    PEER_GATHER,
    PEER_SCATTER,
    PEER_ALLGATHER,
    PEER_REDUCE_SCATTER, /* blocks of one length */
    PEER_SCAN,
    PEER_NEIGHBOR_GATHER, /* to and from the neighbors in a mesh */
    PEER_NEIGHBOR_GATHERV,
    PEER_NEIGHBOR_ALLTOALL,
    PEER_NEIGHBOR_ALLTOALLV,
    PEER_NEIGHBOR_ALLTOALLW,
    PEER_NEIGHBOR_ALLTOALL_INIT, /* started again and again */
    PEER_KINDS
};

/* A mesh has two dimensions and open borders; ranks count along its rows.
 * Neighbors are in MPI's order: above, below, left, right. */
enum { PEER_DIMS = 2, PEER_NEIGHBORS = 2 * PEER_DIMS, PEER_NOBODY = -1 };

/** The part of a buffer that goes to, or comes from, one rank. A block of
 * PEER_NOBODY has its place, and neither goes nor comes. */
struct peer_block {
    size_t offset;    /* of the first row, in bytes */
    size_t rows;      /* 1: contiguous */
    size_t row_bytes; /* 0: nothing is exchanged */
    size_t stride;    /* from row to row, in bytes */
};

/** One collective at one size, as every side sees it. Vectors that are reduced
 * are sums of doubles. A bcast is of `recv`. */
struct peer_call {
    const char *collective;
    enum peer_kind kind;
    int rank, size, root;
    int dims[PEER_DIMS];            /* of the mesh */
    int partners;                   /* all ranks, or neighbors */
    size_t bytes;                   /* of a block, on average; of a vector */
    const struct peer_block *sends; /* [partners]: to and from each */
    const struct peer_block *recvs; /* [partners] */
    size_t row_length;              /* of the arrays that blocks are cut from */
    unsigned char *send, *recv;
    int color, key;         /* split: of this rank, in this call */
    int new_rank, new_size; /* split: what came out, as peer_finish found it */
    void *prepared;         /* the side's own */
};

/** Name of the library, for the table. */
extern const char *const peer_name;

void peer_start(int *argc, char ***argv, int *rank, int *size);
void peer_stop(void);
void peer_abort(const char *what);
void peer_barrier(void);
/** The library's choice of a mesh for so many ranks. */
void peer_choose_dims(int size, int dims[PEER_DIMS]);
/** What every rank says, to every rank; [size]. */
void peer_gather(double value, double *all, int size);
void *peer_alloc(size_t bytes);
void peer_free(void *block);

/** Make ready what a program would keep from call to call: counts, types.
 * False: this side has no such collective. */
bool peer_prepare(struct peer_call *call);
/** The call itself; of a split also the first barrier of the new group. */
void peer_run(struct peer_call *call);
/** After a split, outside of the timed part: look at the group and free it. */
void peer_finish(struct peer_call *call);
void peer_release(struct peer_call *call);

#endif
