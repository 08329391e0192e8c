#ifndef CTN_COLL_BCOL_SHM_FOLD_H
#define CTN_COLL_BCOL_SHM_FOLD_H

#include "coll/bcol/shm/shm.h"

/* Folding vectors in the order of members, as they come. */

/** A part of the vectors that all members have shown. */
typedef struct shm_part {
    size_t at;
    size_t bytes;
} shm_part_t;

/** All of the vector. */
static inline shm_part_t shm_whole(const shm_call_t *call)
{
    return (shm_part_t){0, call->basic->bytes};
}

/** The part that member i folds for all: whole elements, of whole lines where
 * that is possible; maybe none. */
shm_part_t shm_part_of(const shm_call_t *call, uint32_t i);

/** Fold the part of the vectors of members call->seen to end - 1, as far as
 * they have been shown, to what was folded before: into `out`, which none of
 * them lies in. The own vector is call->own.
 * @return all of them are in `out` */
bool shm_fold(shm_call_t *call, uint32_t end, shm_part_t part, void *out);

#endif
