#ifndef RANK_LIAR_H
#define RANK_LIAR_H

#include "rank_split.h"

/* Comparators that lie, and what a split by them must come to all the same. */

enum { RANK_LIARS = 5 };
extern const char *const rank_liars[RANK_LIARS];

/** One rank's liar, as argument of rank_lie. */
typedef struct rank_liar {
    int way; /* of rank_liars */
    uint64_t random;
    bool turned; /* this rank answers the opposite of others */
} rank_liar_t;

int rank_lie(const void *a, size_t a_bytes, const void *b, size_t b_bytes,
             void *argument);

/** Split the world by liars: all ranks get ERR_ARG, or groups that fit
 * together. */
void rank_split_by_liar(rank_test_t *test, const rank_split_t *split,
                        rank_liar_t *liar, bool color, bool key);

#endif
