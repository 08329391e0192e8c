#ifndef CTN_GROUP_ROOTED_TREE_H
#define CTN_GROUP_ROOTED_TREE_H

#include "exec/schedule.h"
#include "group/chain.h"
#include "group/stream.h"

/* The tree of a collective with a root: two binomial trees with a common root,
 * one over the members on either side. Let d be the index of the lowest set bit
 * of a member's distance from the root. Then its parent is 2^d nearer to the
 * root, and its children are 2^0 to 2^(d - 1) further away. The root's children
 * are 2^0, 2^1, ... away on both sides. So a subtree is a contiguous part of
 * the chain, and all parents and children are in the log-chain. Child c of a
 * side is the child 2^c away. Depth and rounds: ceil(log2 p). */

#define CTN_ROOTED_ROUNDS 32u /* for 2^32 members */

/** Consume a message that came from `side`: up the tree (reduce, gather), from
 * a child; down (bcast, scatter), from the parent. The parent's message stays
 * until ctn_rooted_drop. */
typedef catena_status_t (*ctn_rooted_incoming_t)(
    ctn_op_t *op, unsigned side, const ctn_receive_handle_t *receive_handle);

/** The tree as one member sees it; first in the state of an operation. */
typedef struct ctn_rooted {
    /* arguments */
    ctn_chain_t *chain;
    uint32_t root;
    ctn_rooted_incoming_t incoming;
    const ctn_stream_t *subtree; /* up: what the parent gets, when all children
                                    have been received from */
    /* working */
    bool is_root;
    unsigned up;          /* side of the parent */
    unsigned up_round;    /* the parent is 2^up_round away */
    unsigned children[2]; /* number of children on each side */
    ctn_rounds_t rounds;
    ctn_receive_handle_t from_parent; /* down: the message */
    /* Down, by side: what the children get. Child c gets the bytes from
     * bound[c] to before bound[c + 1], or with `whole` those before bound[0].
     */
    const unsigned char *data[2];
    size_t bound[2][CTN_ROOTED_ROUNDS + 1];
    bool whole;
} ctn_rooted_t;

/** Create an operation that builds the log-chain if there is none, then runs an
 * operation of `algorithm`, whose state begins with a ctn_rooted_t. It can be
 * started once only. NULL: no memory.
 * @param[out] state of the second operation; the caller sets its arguments */
ctn_op_t *ctn_rooted_create(ctn_exec_t *exec, ctn_chain_t *chain, uint32_t root,
                            const ctn_algorithm_t *algorithm, void **state);

/** Initialize the tree; called by the first phase. @return ERR_ARG: the chain
 * has no such root */
catena_status_t ctn_rooted_begin(ctn_rooted_t *tree);

/** The same for the tree of a section: 2^levels consecutive members of the
 * chain, as far as they exist. Their first one is the root. */
void ctn_rooted_begin_section(ctn_rooted_t *tree, unsigned levels);

/** Release the receive handles; called by `finish`. */
void ctn_rooted_drop(ctn_op_t *op);

/** Phase: receive from the children, the nearest first; send to the parent, and
 * wait until it has read the message. */
ctn_step_t ctn_rooted_up(ctn_op_t *op);

/** Move *at from the part of one member to that of the next, which is further
 * away from the root. */
typedef void (*ctn_rooted_skip_t)(const unsigned char *data, size_t *at);

/** Set what the children on `side` get: each the parts of the members of its
 * subtree.
 * @param at  offset of the parts for the first child
 * @param end of `data` */
void ctn_rooted_divide(ctn_rooted_t *tree, unsigned side, const void *data,
                       size_t at, size_t end, ctn_rooted_skip_t skip);
/** All children get all of the data. */
void ctn_rooted_repeat(ctn_rooted_t *tree, const void *data, size_t bytes);

/** Phase: receive from the parent; send to every child, and wait until all have
 * read their messages. */
ctn_step_t ctn_rooted_down(ctn_op_t *op);

#endif
