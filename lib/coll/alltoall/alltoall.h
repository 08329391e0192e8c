#ifndef CTN_COLL_ALLTOALL_ALLTOALL_H
#define CTN_COLL_ALLTOALL_ALLTOALL_H

#include "coll/alltoall/leaders/layout.h"
#include "coll/alltoall/pairwise.h"

/** Parameters of the leader algorithms. */
typedef struct ctn_leader_params {
    uint32_t leaders; /* on each node */
    ctn_placement_t placement;
    bool overlap;        /* send each fragment when gathered, scatter each when
                            received */
    size_t direct_above; /* alltoallv, alltoallw: blocks of more bytes are sent
                            from member to member */
} ctn_leader_params_t;

/** A validated call of alltoall, alltoallv or alltoallw. */
typedef struct ctn_alltoall {
    catena_group_t *group;
    ctn_topo_t *topo; /* with its member table; set before the selection */
    const ctn_blocks_t *send; /* the receive blocks when in place */
    const ctn_blocks_t *receive;
    bool in_place;
    bool vector; /* alltoallv or alltoallw: only its sender and its receiver
                    know the length of a block */
    bool blocking;
    bool published; /* its buffer descriptor, for an exchange that begins
                       later */
    struct ctn_selector *selector; /* of the caller's group, which is not
                                      `group` on a hidden duplicate */
    /* The settings of that group when the operation was created: they may
     * change while it waits for earlier operations. */
    const struct ctn_family *family; /* NULL: auto */
    uint32_t leaders;                /* 0: auto */
    uint32_t radix;                  /* of Bruck; 0: auto */
    uint32_t window;                 /* concurrent rounds; 0: auto */
    ctn_round_order_t order;         /* of the direct algorithms */
    catena_type_t *held;             /* types that it holds a reference of */
    uint32_t held_count;
    const struct ctn_hierarchy *after; /* see ctn_alltoallv_create */
    ctn_leader_params_t by_leaders;    /* if the algorithm is one of theirs */
    void *kept; /* data that the algorithm keeps between the starts of a
                   persistent request, or NULL */
    ctn_blocks_t own[2]; /* what `send` and `receive` are, unless they are those
                            of the caller, who waits: words that were stored
                            just now are slow to copy */
} ctn_alltoall_t;

/* The algorithms that an alltoall becomes once the topology is known. Their
 * states begin with the ctn_alltoall_t. Some have a second form for `vector`,
 * which does not synchronize. */

/** A2A-1, pairwise between all members, and A2A-7, linear shift. */
extern const ctn_algorithm_t ctn_alltoall_direct;
extern const ctn_algorithm_t ctn_alltoallv_direct;

/** A2A-6, Bruck: few rounds for small blocks. */
extern const ctn_algorithm_t ctn_alltoall_bruck;

/** A2A-8, Morton order: each member of a node copies a share of all blocks. On
 * several nodes the first algorithm becomes the second one. */
extern const ctn_algorithm_t ctn_alltoall_morton;
extern const ctn_algorithm_t ctn_alltoall_morton_nodes;

/** A2A-2 to A2A-5, through leaders between nodes. */
extern const ctn_algorithm_t ctn_alltoall_leaders;
extern const ctn_algorithm_t ctn_alltoallv_leaders;

/** A2A-9 to A2A-11, through leaders, one step after the other. */
extern const ctn_algorithm_t ctn_alltoall_leaders_plain;

/** Set the arguments of an exchange for a call. The rest of the struct, which
 * is large, is left to ctn_pairwise_begin.
 * @param all among all members of the group, else those of the node */
static inline void ctn_alltoall_exchange(ctn_alltoall_t *call, bool all,
                                         ctn_pairwise_t *x)
{
    const ctn_topo_t *topo = call->topo;
    x->topo = call->topo;
    x->by_rank = all ? topo->member_table.by_rank : NULL;
    x->n = all ? topo->member_table.size : ctn_topo_local_size(topo);
    x->me = all ? call->group->chain.place.rank : ctn_topo_local_rank(topo);
    x->send = call->send;
    x->receive = call->receive;
    x->list = NULL;
    x->in_place = call->in_place;
    x->order = call->order;
    x->window = call->window;
    x->remote_above = 0;
    x->published = call->published;
    call->published = false; /* a persistent request may start again */
}

/** Create an alltoallv that is a part of another operation of the group. All
 * members start it in the same order as their other operations.
 * @param[in] send    with counts; arrays, types and buffers stay valid until
 *                    the alltoallv ends
 * @param[in] receive likewise; each block has the length that its sender has
 * @param[in] after   send only when this hierarchy is built, for which all
 *                    members have compared their settings; where these differ
 *                    some may not run the alltoallv. NULL: at once
 * @return NULL: no memory */
ctn_op_t *ctn_alltoallv_create(catena_group_t *group, const ctn_blocks_t *send,
                               const ctn_blocks_t *receive,
                               const struct ctn_hierarchy *after);

/** Called by the finish functions of all these algorithms: record how many
 * messages this rank has sent. */
void ctn_alltoall_finish(ctn_op_t *op);
/** The release function of all these algorithms. */
void ctn_alltoall_release(ctn_op_t *op);

/** Describe the group's last alltoall. */
void ctn_alltoall_explain(const catena_group_t *group, char *text,
                          size_t bytes);

#endif
