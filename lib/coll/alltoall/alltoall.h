#ifndef CTN_COLL_ALLTOALL_ALLTOALL_H
#define CTN_COLL_ALLTOALL_ALLTOALL_H

#include "coll/alltoall/leaders/layout.h"
#include "coll/alltoall/pairwise.h"

/** One alltoall as the entry point understood it. */
typedef struct ctn_alltoall {
    catena_group_t *group;
    ctn_topo_t *topo;  /* with its roster; set before an algorithm is chosen */
    ctn_blocks_t send; /* the receive blocks when in place */
    ctn_blocks_t receive;
    bool in_place;
    bool vector; /* blocks of different lengths, known to their two ends */
    /* What the group's settings were when the operation was made; it may wait
     * for earlier ones, and settings change meanwhile. */
    struct ctn_selector *selector;   /* the group's */
    const struct ctn_family *family; /* NULL: auto */
    uint32_t leaders;                /* 0: auto */
    uint32_t radix;                  /* of Bruck; 0: auto */
    uint32_t window;                 /* rounds at once; 0: auto */
    ctn_order_t order;               /* of the direct ones */
    catena_datatype_t *held;         /* types kept from being freed */
    uint32_t held_count;
    void *kept; /* what the algorithm keeps from start to start; or NULL */
} ctn_alltoall_t;

/** Parameters of the leader family. */
typedef struct ctn_leader_params {
    uint32_t leaders;
    ctn_placement_t placement;
    bool overlap; /* send each piece when gathered, scatter as they arrive */
    size_t direct_above; /* larger blocks of different lengths go directly */
} ctn_leader_params_t;

/* What an alltoall becomes once the topology is known; their states begin
 * with the ctn_alltoall_t. Each is there for blocks of equal lengths, and for
 * `vector`, which does not synchronize. */

/** A2A-1, pairwise between all members, and A2A-7, linear shift. */
extern const ctn_algorithm_t ctn_alltoall_direct;
extern const ctn_algorithm_t ctn_alltoallv_direct;

/** A2A-6, Bruck: few rounds for small blocks. */
extern const ctn_algorithm_t ctn_alltoall_bruck;

/** A2A-8, on one node: each member copies a share of all blocks. */
extern const ctn_algorithm_t ctn_alltoall_morton;

/** A2A-2 to A2A-5, through leaders between nodes. */
extern const ctn_algorithm_t ctn_alltoall_leaders;
extern const ctn_algorithm_t ctn_alltoallv_leaders;
/** Where an operation that becomes it keeps its parameters. */
ctn_leader_params_t *ctn_alltoall_leader_params(ctn_op_t *op);

/** What all of them do when an operation is given back. */
void ctn_alltoall_release(ctn_op_t *op);

/** How the group's last alltoall ran, in words. */
void ctn_alltoall_explain(catena_group_t *group, char *text, size_t bytes);

#endif
