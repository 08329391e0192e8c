#ifndef CTN_COLL_BCOL_SHM_FOLD_H
#define CTN_COLL_BCOL_SHM_FOLD_H

#include "coll/bcol/shm/shm.h"

/* Folding vectors in the order of members, as they come. */

/** A part of the vectors that all members have shown. */
typedef struct shm_fragment {
    size_t at;
    size_t bytes;
} shm_fragment_t;

/** All of the vector. */
static inline shm_fragment_t shm_all_of(const shm_call_t *call)
{
    return (shm_fragment_t){0, call->basic->bytes};
}

/** The part that member i folds for all: whole elements, of whole lines where
 * that is possible; maybe none. */
shm_fragment_t shm_fragment_of(const shm_call_t *call, uint32_t i);

/** Fold the part of the vectors of members call->seen to end - 1, as far as
 * they have been shown, to what was folded before: into `out`, which none of
 * them lies in. The own vector is call->own.
 * @return all of them are in `out` */
bool shm_fold(shm_call_t *call, uint32_t end, shm_fragment_t fragment,
              void *out);

/* Many hands: each folds a part of all vectors, and shows it in its stage. */

/** A step: fold one's own part, and show it. The own vector must not be in the
 * stage. */
bool shm_fold_fragment(shm_call_t *call);

/** A step's work: wait for all parts, and copy them to `out` if told to. That
 * may be where the own vector is: who has shown a part was the only one to read
 * it there.
 * @return all are there */
bool shm_collect_fragments(shm_call_t *call, bool copy);

#endif
