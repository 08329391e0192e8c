#ifndef CTN_GROUP_ROOTED_TREE_H
#define CTN_GROUP_ROOTED_TREE_H

#include "group/chain_coll.h"
#include "group/scan_rounds.h"

/* The tree of a collective with a root: two binomial trees with a common root,
 * one over the members on either side. For a member v away from the root, let d
 * be the lowest set bit of v: its parent is 2^d nearer to the root, its
 * children are 2^0 to 2^(d - 1) further away. So a subtree is a contiguous part
 * of the chain, and all distances are in the log-chain. Depth and rounds:
 * ceil(log2 p). */

#define CTN_ROOTED_ROUNDS 32u

/** Callbacks for the messages of a tree, either up or down. */
typedef struct ctn_rooted_values {
    /** Consume the message of the member on `side`: up, a child; down, the
     * parent, whose receive handle stays valid until ctn_rooted_drop. */
    catena_status_t (*incoming)(ctn_op_t *op, unsigned side,
                                const ctn_receive_handle_t *receive_handle);
    /** Down: return what to send to the child on `side`, 2^child away. */
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
    unsigned received[2]; /* from how many of them, the nearest first */
    size_t sent_bytes;    /* to the parent */
    ctn_receive_handle_t receive_handle[2];
} ctn_rooted_t;

/** Create an operation that builds the log-chain if necessary, then runs an
 * operation of `algorithm`, whose state begins with the tree: `*state`, filled
 * in by the caller. It runs once. NULL: no memory. */
ctn_op_t *ctn_rooted_create(ctn_exec_t *exec, ctn_chain_t *chain, uint32_t root,
                            const ctn_algorithm_t *algorithm,
                            const ctn_rooted_values_t *values, void **state);

/** Initialize the tree, in the operation's first phase. @return ERR_ARG: no
 * such root */
catena_status_t ctn_rooted_begin(ctn_rooted_t *tree);

/** Release the receive handles. */
void ctn_rooted_drop(ctn_op_t *op);

/* Up: a message from each child, then one to the parent. */

/** Phase: receive from the children. */
ctn_step_t ctn_rooted_collect(ctn_op_t *op);
/** Send `data` to the parent, zero-copy; see ctn_message_send_zcopy. */
catena_status_t ctn_rooted_send_up(ctn_op_t *op, const void *data,
                                   size_t bytes);
/** Phase: wait until the parent has read it. */
ctn_step_t ctn_rooted_await_parent(ctn_op_t *op);

/* Down: a message from the parent, then one to each child. */

/** Phase: receive from the parent. */
ctn_step_t ctn_rooted_receive(ctn_op_t *op);
/** Phase: send to every child, zero-copy. */
ctn_step_t ctn_rooted_send_down(ctn_op_t *op);
/** Phase: wait until all children have read theirs. */
ctn_step_t ctn_rooted_await_children(ctn_op_t *op);

/** Build the list of blocks from a member's two streams, which it takes over.
 * After `head` bytes both streams begin with the own block, followed by those
 * of their side, the nearest first. The first member's left stream may be
 * empty. */
catena_status_t ctn_rank_blocks_take(ctn_exec_t *exec,
                                     ctn_rank_blocks_t *blocks,
                                     ctn_stream_t *stream, size_t head,
                                     uint32_t rank, uint32_t count);

#endif
