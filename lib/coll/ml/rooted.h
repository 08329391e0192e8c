#ifndef CTN_COLL_ML_ROOTED_H
#define CTN_COLL_ML_ROOTED_H

#include "coll/ml/route.h"

/* What gather(v) and scatter(v) share: one reverses the other. In gatherv and
 * scatterv only the root knows the lengths of all blocks. If the blocks go
 * through leaders, which need the lengths, these are sent first on the same
 * route, as blocks of 8 bytes: lengths are chunk 0, blocks are chunk 1. */

/** The state of gather(v) and scatter(v), in ml->table. */
typedef struct ctn_ml_rooted {
    ctn_route_t route; /* first */
    bool ahead;        /* lengths are sent first */
    bool differ;       /* a received length is not the expected one */
    bool user_buffer;  /* the cover lies in the root's buffer of all blocks */
    uint64_t own;      /* memory for `lengths` if this rank stores one block */
    uint64_t *lengths; /* [ranks of the cover]: lengths of their blocks */
    /** Copy this rank's data to the cover, once it has memory. */
    void (*copy_data)(ctn_ml_t *ml);
} ctn_ml_rooted_t;

/** The block that this rank sends (gather) or receives (scatter). */
static inline const ctn_span_t *ctn_ml_rooted_own(const ctn_ml_t *ml)
{
    return ml->call.composition->single_level_kind == CTN_GATHER
               ? &ml->call.in
               : &ml->call.out;
}

static inline bool ctn_ml_rooted_is_root(const ctn_ml_t *ml)
{
    return ctn_ml_rank(ml) == ml->call.root;
}

/** For `plan`: set the number of chunks and make the route. If lengths are sent
 * first, it is the route of lengths, and those that this rank knows are set.
 * Else it is the route of blocks, and `copy_data` is called.
 * @return ERR_NO_MEMORY, ERR_UNSUPPORTED (lengths would be sent first, but the
 * simulator moves no user data; logged) */
catena_status_t ctn_ml_rooted_plan(ctn_ml_t *ml,
                                   void (*copy_data)(ctn_ml_t *ml));

/** For `compose`: begin a chunk. If it is the chunk of the blocks and lengths
 * were sent first, add a local step that makes the route of blocks and calls
 * `copy_data`. After a length mismatch the operation runs to its end and fails.
 * @return whether it is the chunk of the blocks */
bool ctn_ml_rooted_open(ctn_ml_t *ml, ctn_chunk_t *chunk);

#endif
