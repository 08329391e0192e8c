#ifndef PEER_H
#define PEER_H

#include <stdbool.h>
#include <stddef.h>

/* One measurement, several libraries: measure.c is the loop, side_*.c the
 * calls of one library. Both sides are built from the same loop, so that only
 * the library differs. */

/** The part of a buffer that goes to, or comes from, one rank. */
struct peer_block {
    size_t offset;    /* of the first row, in bytes */
    size_t rows;      /* 1: contiguous */
    size_t row_bytes; /* 0: nothing is exchanged */
    size_t stride;    /* from row to row, in bytes */
};

/** One collective at one size, as every side sees it. */
struct peer_call {
    const char *collective;
    int rank, size;
    size_t bytes;                   /* of a block, on average */
    const struct peer_block *sends; /* [size] */
    const struct peer_block *recvs; /* [size] */
    size_t row_length;              /* of the arrays that blocks are cut from */
    unsigned char *send, *recv;
    bool split;             /* makes a group of each color, and no data moves */
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
