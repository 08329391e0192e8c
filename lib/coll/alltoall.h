#ifndef CTN_COLL_ALLTOALL_H
#define CTN_COLL_ALLTOALL_H

#include "coll/pairwise.h"
#include "coll/plan.h"

/** One alltoall as the entry point understood it; read-only from then on. */
typedef struct ctn_alltoall {
    catena_group_t *group;
    const unsigned char *send; /* the receive buffer when in place */
    unsigned char *receive;
    size_t bytes; /* of a block, not 0 */
    bool in_place;
    /* What the group's settings were when the operation was made; it may wait
     * for earlier ones, and settings change meanwhile. */
    const struct ctn_family *family; /* NULL: auto */
    uint32_t leaders;                /* 0: auto */
} ctn_alltoall_t;

/** Parameters of the leader family. */
typedef struct ctn_leading {
    uint32_t leaders;
    ctn_placement_t placement;
    bool overlap; /* send each piece when gathered, scatter as they arrive */
} ctn_leading_t;

/* What an alltoall becomes once the topology is known; their states begin
 * with the ctn_alltoall_t. */

/** A2A-1, pairwise between all members. */
extern const ctn_algorithm_t ctn_alltoall_direct;

/** A2A-2 to A2A-5, through leaders between nodes. */
extern const ctn_algorithm_t ctn_alltoall_leaders;
/** Where an operation that becomes it keeps its parameters. */
ctn_leading_t *ctn_alltoall_leading(ctn_op_t *op);

/** How the group's last alltoall ran, in words. */
void ctn_alltoall_explain(catena_group_t *group, char *text, size_t bytes);

#endif
