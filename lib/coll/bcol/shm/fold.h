#ifndef CTN_COLL_BCOL_SHM_FOLD_H
#define CTN_COLL_BCOL_SHM_FOLD_H

#include "coll/bcol/shm/shm.h"

/* Folding: reducing the vectors that members publish, in the order of members,
 * each as soon as it is published. */

/** A fragment of a vector. */
typedef struct shm_fragment {
    size_t at; /* offset in the vector */
    size_t bytes;
} shm_fragment_t;

/** The fragment that is all of the vector. */
static inline shm_fragment_t shm_all_of(const shm_call_t *call)
{
    return (shm_fragment_t){0, call->basic->bytes};
}

/** The fragment that member i reduces for all: whole elements, aligned to cache
 * lines if possible; it may be empty. */
shm_fragment_t shm_fragment_of(const shm_call_t *call, uint32_t i);

/** Reduce a fragment of the vectors of members 0 to end - 1 into `out`. Begins
 * at member call->next, those before it were reduced in earlier calls; stops at
 * the first vector that is not published yet. None of the vectors lies in
 * `out`. This member's vector is call->own.
 * @return true: all are reduced */
bool shm_fold(shm_call_t *call, uint32_t end, shm_fragment_t fragment,
              void *out);

/* Algorithms "shared": the members share the work. Each reduces one fragment of
 * all vectors, and publishes the result in its staging buffer. */

/** A step: reduce this member's fragment and publish it. This member's vector
 * must not lie in the staging buffer. */
bool shm_fold_fragment(shm_call_t *call);

/** For a step: wait for the fragments of all members, and if `copy`, copy them
 * to basic->out. That may be where this member's vector is: only the member
 * that publishes a fragment reads this fragment of the vectors, and it has done
 * so.
 * @return true: all have arrived */
bool shm_collect_fragments(shm_call_t *call, bool copy);

#endif
