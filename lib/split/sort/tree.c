/* Messages up and down the binomial trees of split/sort/sort.h. An edge of
 * level d joins two members 2^d apart, which know each other's address from the
 * log-chain. */

#include "split/sort/sort.h"

enum { LEFT, RIGHT };

/* The first slot of the messages down. Slots below are for those up. Each level
 * has one of both, so no two messages to a member use one slot. */
enum { DOWN = CTN_SPLIT_TREE_SLOTS / 2 };

/** Return the member 2^level away on `side`. */
static ctn_address_t joined(const ctn_split_tree_t *tree, unsigned level,
                            int side)
{
    return tree->chain->log->round[level].side[side];
}

/** Return whether the member's parent in the tree is 2^level to the left: then
 * all its children are at lower levels. */
static bool is_child(const ctn_split_tree_t *tree)
{
    return tree->level < tree->levels &&
           (tree->chain->place.rank >> tree->level & 1) != 0;
}

/** Send the table of this member's subtree to its parent in the tree. */
static ctn_step_t hand_up(ctn_op_t *op, ctn_split_tree_t *tree,
                          ctn_record_table_t *table)
{
    catena_status_t status =
        ctn_message_send(op, joined(tree, tree->level, LEFT), tree->level, 0,
                         table->records, table->bytes, &tree->up);
    ctn_record_table_release(op->exec, table);
    op->exec->tally.rounds++;
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

ctn_step_t ctn_split_tree_gather(ctn_op_t *op, ctn_split_tree_t *tree,
                                 const ctn_order_by_t *by,
                                 ctn_record_table_t *table)
{
    for (; tree->level < tree->levels; tree->level++) {
        if (is_child(tree)) {
            return hand_up(op, tree, table);
        }
        ctn_address_t child = joined(tree, tree->level, RIGHT);
        if (!ctn_address_exists(child)) {
            continue;
        }
        ctn_step_t step = ctn_message_receive(op, child, tree->level, 0,
                                              &tree->receive_handle);
        if (step != CTN_STEP_NEXT) {
            return step;
        }
        catena_status_t status = ctn_record_table_merge(
            by, table, tree->receive_handle.data, tree->receive_handle.bytes);
        ctn_receive_handle_release(op, &tree->receive_handle);
        if (status != CATENA_OK) {
            return ctn_op_fail(op, status);
        }
        op->exec->tally.rounds++;
    }
    return CTN_STEP_NEXT;
}

/** Send each child the data of its subtree, and reduce *bytes to those that are
 * left for this member. The child with the largest subtree comes first, because
 * its data are at the end. */
static catena_status_t hand_down(ctn_op_t *op, ctn_split_tree_t *tree,
                                 ctn_split_tree_share_t share,
                                 const unsigned char *data, size_t *bytes)
{
    catena_status_t status = CATENA_OK;
    for (unsigned d = tree->level; status == CATENA_OK && d-- > 0;) {
        ctn_address_t child = joined(tree, d, RIGHT);
        if (!ctn_address_exists(child)) {
            continue;
        }
        size_t own_bytes = *bytes > 0 ? share(data, UINT32_C(1) << d) : 0;
        status = ctn_message_send(op, child, DOWN + d, 0, data + own_bytes,
                                  *bytes - own_bytes, &tree->down[d]);
        *bytes = own_bytes;
        op->exec->tally.rounds++;
    }
    return status;
}

ctn_step_t ctn_split_tree_scatter(ctn_op_t *op, ctn_split_tree_t *tree,
                                  ctn_split_tree_share_t share,
                                  const unsigned char **data, size_t *bytes)
{
    if (is_child(tree)) {
        ctn_step_t step =
            ctn_message_receive(op, joined(tree, tree->level, LEFT),
                                DOWN + tree->level, 0, &tree->receive_handle);
        if (step != CTN_STEP_NEXT) {
            return step;
        }
        *data = tree->receive_handle.data;
        *bytes = tree->receive_handle.bytes;
        op->exec->tally.rounds++;
    }
    catena_status_t status = hand_down(op, tree, share, *data, bytes);
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

ctn_step_t ctn_split_tree_end(ctn_op_t *op, ctn_split_tree_t *tree)
{
    bool done = ctn_message_send_done(op, &tree->up);
    for (unsigned d = 0; d < tree->level; d++) {
        done &= ctn_message_send_done(op, &tree->down[d]);
    }
    return done ? CTN_STEP_NEXT : CTN_STEP_WAIT;
}

void ctn_split_tree_release(ctn_op_t *op, ctn_split_tree_t *tree)
{
    ctn_receive_handle_release(op, &tree->receive_handle);
    ctn_send_handle_release(op, &tree->up);
    for (unsigned d = 0; d < tree->level; d++) {
        ctn_send_handle_release(op, &tree->down[d]);
    }
}
