#ifndef CTN_COLL_ML_ROOTED_H
#define CTN_COLL_ML_ROOTED_H

#include "coll/ml/route.h"

/* What gather(v) and scatter(v), each the other turned round, have in common.
 * With lengths of their own the root alone knows how long all blocks are. Where
 * they go through leaders, lengths go first, as blocks of 8 bytes on the same
 * way: segment 0 then, and the blocks are segment 1. */

/** What they keep in ml->table. */
typedef struct ctn_ml_rooted {
    ctn_route_t route; /* first */
    bool ahead;        /* lengths go first */
    bool differ;       /* what was told of lengths is not what was expected */
    bool user_buffer;  /* the root's buffer is the cover */
    uint64_t own;      /* this rank's length, if it keeps no others */
    uint64_t *lengths; /* [ranks of the cover] */
    /* Copies what this rank gives, once the way is ready for blocks. */
    void (*copy_data)(ctn_ml_t *ml);
} ctn_ml_rooted_t;

/** The block that this rank gives or gets, whether it gathers or scatters. */
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

/** Set segments, find the way, and make it ready: for lengths, which are what
 * this rank knows of them, if they go first; else for blocks, and `give`.
 * @return ERR_NO_MEMORY, ERR_UNSUPPORTED (lengths would go first, but what
 * users send is not moved; logged) */
catena_status_t ctn_ml_rooted_plan(ctn_ml_t *ml,
                                   void (*copy_data)(ctn_ml_t *ml));

/** Begin a segment; where lengths have come, make the way ready for blocks and
 * give. Wrong lengths are refused, which ends the operation with an error when
 * all is over. @return whether it is that of the blocks */
bool ctn_ml_rooted_open(ctn_ml_t *ml, ctn_chunk_t *chunk);

#endif
