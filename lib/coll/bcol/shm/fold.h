#ifndef CTN_COLL_BCOL_SHM_FOLD_H
#define CTN_COLL_BCOL_SHM_FOLD_H

#include "coll/bcol/shm/shm.h"

/* Reducing vectors in the order of members, as they arrive. */

/** A fragment of the vectors that all members publish. */
typedef struct shm_fragment {
    size_t at;
    size_t bytes;
} shm_fragment_t;

/** All of the vector. */
static inline shm_fragment_t shm_all_of(const shm_call_t *call)
{
    return (shm_fragment_t){0, call->basic->bytes};
}

/** The fragment that member i reduces for all: whole elements, aligned to cache
 * lines if possible; it may be empty. */
shm_fragment_t shm_fragment_of(const shm_call_t *call, uint32_t i);

/** Reduce a fragment of the vectors of members call->next to end - 1, as far as
 * they are published, into `out`, after those that were reduced before. None of
 * the vectors lies in `out`. This member's vector is call->own.
 * @return true: all of them are in `out` */
bool shm_fold(shm_call_t *call, uint32_t end, shm_fragment_t fragment,
              void *out);

/* All members share the work: each reduces a fragment of all vectors, and
 * publishes it in its staging buffer. */

/** A step: reduce this member's fragment and publish it. This member's vector
 * must not lie in the staging buffer. */
bool shm_fold_fragment(shm_call_t *call);

/** Work of a step: wait for all fragments, and if `copy`, copy them to `out`.
 * `out` may be where this member's vector is: a fragment is published by the
 * only member that read it there.
 * @return true: all have arrived */
bool shm_collect_fragments(shm_call_t *call, bool copy);

#endif
