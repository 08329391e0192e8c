#ifndef CTN_COLL_ML_ROOTED_H
#define CTN_COLL_ML_ROOTED_H

#include "coll/ml/route.h"

/* What gather(v) and scatter(v) share: one reverses the other. With blocks of
 * different lengths only the root knows all lengths. If the blocks pass through
 * leaders, lengths are sent first on the same route, as blocks of 8 bytes: in
 * chunk 0; the blocks are chunk 1. */

/** Their state in ml->table. */
typedef struct ctn_ml_rooted {
    ctn_route_t route; /* first */
    bool ahead;        /* lengths are sent first */
    bool differ;       /* a received length is not the expected one */
    bool user_buffer;  /* the root's buffer is the cover */
    uint64_t own;      /* this rank's length, if it stores no others */
    uint64_t *lengths; /* [ranks of the cover] */
    /* Copy this rank's data, when the route is ready for blocks. */
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

/** Set the number of chunks and make the route: for lengths, as far as this
 * rank knows them, if they are sent first; else for blocks, followed by
 * `copy_data`.
 * @return ERR_NO_MEMORY, ERR_UNSUPPORTED (lengths would be sent first, but the
 * simulator moves no user data; logged) */
catena_status_t ctn_ml_rooted_plan(ctn_ml_t *ml,
                                   void (*copy_data)(ctn_ml_t *ml));

/** Begin a chunk. If lengths have arrived, make the route for the blocks and
 * call copy_data. After a length mismatch the operation runs to its end and
 * fails. @return whether it is the chunk of the blocks */
bool ctn_ml_rooted_open(ctn_ml_t *ml, ctn_chunk_t *chunk);

#endif
