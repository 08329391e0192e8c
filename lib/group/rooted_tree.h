#ifndef CTN_GROUP_ROOTED_TREE_H
#define CTN_GROUP_ROOTED_TREE_H

#include "group/chain_coll.h"
#include "group/scan_rounds.h"

/* The tree of a collective with a root: two binomial trees that meet in the
 * root, one over the members on either side. A member v away from the root has
 * its parent 2^d nearer, d being the number of v's lowest bit that is set, and
 * children 2^0 to 2^(d - 1) further away. So a subtree is a stretch of the
 * chain, and all distances are in the log-chain. Depth and rounds:
 * ceil(log2 p). */

#define CTN_ROOTED_ROUNDS 32u

/** What travels on a tree, either up or down. */
typedef struct ctn_rooted_values {
    /** What the member on `side` has sent: a child, when it goes up; the
     * parent, whose letter stays until ctn_rooted_drop, when it goes down. */
    catena_status_t (*incoming)(ctn_op_t *op, unsigned side,
                                const ctn_receive_handle_t *receive_handle);
    /** Down: what a child on `side`, 2^child away, is to get. */
    ctn_rank_block_t (*outgoing)(ctn_op_t *op, unsigned side, unsigned child);
} ctn_rooted_values_t;

/** First in the state of an operation on a tree. */
typedef struct ctn_rooted {
    /* arguments */
    ctn_chain_t *chain;
    uint32_t root;
    const ctn_rooted_values_t *values;
    /* working */
    bool is_root;
    unsigned up;          /* side of the parent */
    unsigned up_round;    /* it is 2^up_round away */
    unsigned children[2]; /* on each side, 2^0, 2^1, ... away */
    unsigned received[2]; /* of those, the nearest first */
    size_t sent_bytes;    /* to the parent */
    ctn_receive_handle_t receive_handle[2];
} ctn_rooted_t;

/** An operation that makes sure of the log-chain, then runs one made of
 * `algorithm`, whose state begins with the tree: `*state`, to be filled in. It
 * runs once. NULL: no memory. */
ctn_op_t *ctn_rooted_create(ctn_exec_t *exec, ctn_chain_t *chain, uint32_t root,
                            const ctn_algorithm_t *algorithm,
                            const ctn_rooted_values_t *values, void **state);

/** The first thing of such an operation. @return ERR_ARG: no such root */
catena_status_t ctn_rooted_begin(ctn_rooted_t *tree);

/** Give back what is held of messages. */
void ctn_rooted_drop(ctn_op_t *op);

/* Up: a message from each child, then one to the parent. */

/** Phase: take what the children send. */
ctn_step_t ctn_rooted_collect(ctn_op_t *op);
/** Lend `data` to the parent; see ctn_message_send_zcopy. */
catena_status_t ctn_rooted_send_up(ctn_op_t *op, const void *data,
                                   size_t bytes);
/** Phase: wait until the parent has it. */
ctn_step_t ctn_rooted_await_parent(ctn_op_t *op);

/* Down: a message from the parent, then one to each child. */

/** Phase: take what the parent sends. */
ctn_step_t ctn_rooted_receive(ctn_op_t *op);
/** Phase: lend its part to every child. */
ctn_step_t ctn_rooted_send_down(ctn_op_t *op);
/** Phase: wait until all have theirs. */
ctn_step_t ctn_rooted_await_children(ctn_op_t *op);

/** Make a list of pieces of a member's two streams, which are taken over: both
 * begin, after `head` bytes, with its own piece; then come those of its side,
 * the nearest first. The first member's left one may be empty. */
catena_status_t ctn_rank_blocks_take(ctn_exec_t *exec,
                                     ctn_rank_blocks_t *blocks,
                                     ctn_stream_t *stream, size_t head,
                                     uint32_t rank, uint32_t count);

#endif
