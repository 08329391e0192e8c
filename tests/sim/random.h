#ifndef SIM_RANDOM_H
#define SIM_RANDOM_H

#include "ranks/helpers/rank_test.h"

typedef struct draw draw_t;

typedef struct kind {
    const char *name;
    void (*run)(rank_test_t *test, draw_t *draw, uint64_t random);
    bool vectors;    /* counts and types for every pair, in most exchanges */
    bool kills;      /* kills a rank; runs until that is detected */
    bool ends;       /* a wrong call may end all operations */
    bool few;        /* mostly few ranks */
    bool together;   /* mostly on one node */
    unsigned weight; /* drawn so often; 0: once */
} kind_t;

/** One seed's job. The ranks share it: they are one process. */
struct draw {
    uint64_t seed;
    const kind_t *kind;
    const char *machine;
    int ranks;
    int nodes;
    int *node_of;
    double *entered; /* [ranks]: virtual time */
    unsigned long errors;
    bool through; /* some rank ended without an error */
    /* A kind's object for all ranks, and its number of outstanding uses. */
    void *shared;
    int asked;
};

/** Sometimes make some ranks late. */
void pause_somewhere(rank_test_t *test, uint64_t shared);

/* Kinds of collectives.c. */

/** Alltoalls, splits and hierarchical collectives on overlapping groups; fewer
 * with many ranks, since each checks its received data. */
void mixed_collectives(rank_test_t *test, draw_t *draw, uint64_t random);
void long_blocks(rank_test_t *test, draw_t *draw, uint64_t random);
void dying_collectives(rank_test_t *test, draw_t *draw, uint64_t random);
void neighborhoods(rank_test_t *test, draw_t *draw, uint64_t random);
void dying_neighborhoods(rank_test_t *test, draw_t *draw, uint64_t random);

/** Programs of all of these, programs.c. */
void programs(rank_test_t *test, draw_t *draw, uint64_t random);
/** Few short calls in flight, repeated in all modes. */
void short_calls(rank_test_t *test, draw_t *draw, uint64_t random);
/** Wrong calls, lengths.c. */
void wrong_lengths(rank_test_t *test, draw_t *draw, uint64_t random);

/* Kinds of splits.c, by any algorithm. */

/** Consecutive splits of the world. */
void splits(rank_test_t *test, draw_t *draw, uint64_t random);
/** Between exchanges, on a group and on groups split from it. */
void splits_in_flight(rank_test_t *test, draw_t *draw, uint64_t random);
void splits_of_splits(rank_test_t *test, draw_t *draw, uint64_t random);
void splits_by_liars(rank_test_t *test, draw_t *draw, uint64_t random);
void dying_splits(rank_test_t *test, draw_t *draw, uint64_t random);

#endif
