/* Trees on a chain: messages to and from parents and children. */

#include "group/rooted_tree.h"

/** State of an operation that builds the log-chain, then runs `on_tree`. */
typedef struct with_log {
    ctn_chain_t *chain;
    ctn_op_t *on_tree; /* NULL once it was started */
} with_log_t;

static ctn_step_t build_log_chain(ctn_op_t *op)
{
    with_log_t *with_log = ctn_op_state(op);
    return with_log->chain->log != NULL
               ? CTN_STEP_NEXT
               : ctn_op_call(op,
                             ctn_log_chain_create(op->exec, with_log->chain));
}

static ctn_step_t run(ctn_op_t *op)
{
    with_log_t *with_log = ctn_op_state(op);
    ctn_op_t *on_tree = with_log->on_tree;
    with_log->on_tree = NULL;
    return ctn_op_call(op, on_tree);
}

static void release(ctn_op_t *op)
{
    with_log_t *with_log = ctn_op_state(op);
    if (with_log->on_tree != NULL) {
        ctn_op_release(with_log->on_tree);
    }
}

static const ctn_phase_t phases[] = {
    {"log-chain", build_log_chain}, {"tree", run}, {NULL, NULL}};

static const ctn_algorithm_t algorithm_with_log = {
    .name = "chain/tree",
    .state_bytes = sizeof(with_log_t),
    .phases = phases,
    .release = release,
};

ctn_op_t *ctn_rooted_create(ctn_exec_t *exec, ctn_chain_t *chain, uint32_t root,
                            const ctn_algorithm_t *algorithm, void **state)
{
    ctn_op_t *op = ctn_op_create(exec, &algorithm_with_log, NULL);
    if (op == NULL) {
        return NULL;
    }
    with_log_t *with_log = ctn_op_state(op);
    with_log->chain = chain;
    with_log->on_tree = ctn_op_create(exec, algorithm, &chain->sequence);
    if (with_log->on_tree == NULL) {
        ctn_op_release(op);
        return NULL;
    }
    ctn_rooted_t *tree = ctn_op_state(with_log->on_tree);
    tree->chain = chain;
    tree->root = root;
    *state = tree;
    return op;
}

/** Count the children on a side: those 2^0, 2^1, ... away that are members of
 * the chain, and at most `limit`. */
static unsigned count_children(const ctn_chain_place_t *place, unsigned side,
                               unsigned limit)
{
    uint32_t available =
        side == CTN_LEFT ? place->rank : place->size - 1 - place->rank;
    unsigned count = 0;
    while (count < limit && UINT64_C(1) << count <= available) {
        count++;
    }
    return count;
}

/** Find parent and children. The root has children up to 2^(limit - 1) away on
 * each side. */
static void find_relatives(ctn_rooted_t *tree, unsigned left_limit,
                           unsigned right_limit)
{
    const ctn_chain_place_t *place = &tree->chain->place;
    unsigned limit[2] = {left_limit, right_limit};
    tree->is_root = place->rank == tree->root;
    if (!tree->is_root) {
        tree->up = place->rank < tree->root ? CTN_RIGHT : CTN_LEFT;
        uint32_t away = tree->up == CTN_RIGHT ? tree->root - place->rank
                                              : place->rank - tree->root;
        tree->up_round = (unsigned)__builtin_ctz(away);
        limit[tree->up] = 0;
        limit[!tree->up] = tree->up_round;
    }
    for (unsigned side = CTN_LEFT; side <= CTN_RIGHT; side++) {
        tree->children[side] = count_children(place, side, limit[side]);
    }
}

catena_status_t ctn_rooted_begin(ctn_rooted_t *tree)
{
    if (tree->root >= tree->chain->place.size) {
        return CATENA_ERR_ARG;
    }
    find_relatives(tree, CTN_ROOTED_ROUNDS, CTN_ROOTED_ROUNDS);
    return CATENA_OK;
}

void ctn_rooted_begin_section(ctn_rooted_t *tree, unsigned levels)
{
    uint64_t others = (UINT64_C(1) << levels) - 1;
    tree->root = (uint32_t)(tree->chain->place.rank & ~others);
    find_relatives(tree, 0, levels);
}

static ctn_address_t member_at(const ctn_rooted_t *tree, unsigned side,
                               unsigned round)
{
    return tree->chain->log->round[round].side[side].address;
}

/** The slot of a message from a member 2^round away.
 * @param side on which the receiver has the sender */
static unsigned slot_of(unsigned side, unsigned round)
{
    return 2 * round + side;
}

/* ---- messages to and from the member 2^round away on `side` ---- */

static catena_status_t send_zcopy(ctn_op_t *op, unsigned side, unsigned round,
                                  const void *data, size_t bytes)
{
    const ctn_rooted_t *tree = ctn_op_state(op);
    op->exec->tally.rounds++;
    return ctn_message_send_zcopy(op, member_at(tree, side, round),
                                  slot_of(!side, round), 0, data, bytes);
}

static bool is_sent(const ctn_op_t *op, unsigned side, unsigned round,
                    size_t bytes)
{
    return ctn_message_zcopy_done(op, slot_of(!side, round), 0, bytes);
}

static ctn_step_t receive(ctn_op_t *op, unsigned side, unsigned round)
{
    ctn_rooted_t *tree = ctn_op_state(op);
    ctn_step_t step = ctn_message_receive(op, member_at(tree, side, round),
                                          slot_of(side, round), 0,
                                          &tree->receive_handle[side]);
    if (step == CTN_STEP_NEXT) {
        op->exec->tally.rounds++;
    } else {
        int64_t away = INT64_C(1) << round;
        op->waits_for =
            tree->chain->place.rank + (side == CTN_LEFT ? -away : away);
    }
    return step;
}

void ctn_rooted_drop(ctn_op_t *op)
{
    ctn_rooted_t *tree = ctn_op_state(op);
    ctn_receive_handle_release(op, &tree->receive_handle[CTN_LEFT]);
    ctn_receive_handle_release(op, &tree->receive_handle[CTN_RIGHT]);
}

/** Receive from the member 2^round away on `side`. NEXT: the message has been
 * consumed. */
static ctn_step_t receive_from(ctn_op_t *op, unsigned side, unsigned round)
{
    ctn_rooted_t *tree = ctn_op_state(op);
    ctn_step_t step = receive(op, side, round);
    if (step != CTN_STEP_NEXT) {
        return step;
    }
    catena_status_t status =
        tree->incoming(op, side, &tree->receive_handle[side]);
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

/* ---- up ---- */

/** Receive from the next child on `side`. MOVED: its message has been consumed;
 * NEXT: there are no more children. */
static ctn_step_t receive_child(ctn_op_t *op, unsigned side)
{
    ctn_rooted_t *tree = ctn_op_state(op);
    unsigned round = tree->received[side];
    if (round == tree->children[side]) {
        return CTN_STEP_NEXT;
    }
    ctn_step_t step = receive_from(op, side, round);
    if (step != CTN_STEP_NEXT) {
        return step;
    }
    ctn_receive_handle_release(op, &tree->receive_handle[side]);
    tree->received[side]++;
    return CTN_STEP_MOVED;
}

ctn_step_t ctn_rooted_collect(ctn_op_t *op)
{
    ctn_step_t left = receive_child(op, CTN_LEFT);
    if (left == CTN_STEP_MOVED || left == CTN_STEP_FAIL) {
        return left;
    }
    ctn_step_t right = receive_child(op, CTN_RIGHT);
    return right == CTN_STEP_NEXT ? left : right;
}

catena_status_t ctn_rooted_send_up(ctn_op_t *op, const void *data, size_t bytes)
{
    ctn_rooted_t *tree = ctn_op_state(op);
    tree->sent_bytes = bytes;
    return send_zcopy(op, tree->up, tree->up_round, data, bytes);
}

ctn_step_t ctn_rooted_await_parent(ctn_op_t *op)
{
    const ctn_rooted_t *tree = ctn_op_state(op);
    return tree->is_root ||
                   is_sent(op, tree->up, tree->up_round, tree->sent_bytes)
               ? CTN_STEP_NEXT
               : CTN_STEP_WAIT;
}

/* ---- down ---- */

ctn_step_t ctn_rooted_receive(ctn_op_t *op)
{
    const ctn_rooted_t *tree = ctn_op_state(op);
    return tree->is_root ? CTN_STEP_NEXT
                         : receive_from(op, tree->up, tree->up_round);
}

void ctn_rooted_divide(ctn_rooted_t *tree, unsigned side, const void *data,
                       size_t at, size_t end, ctn_rooted_skip_t skip)
{
    unsigned children = tree->children[side];
    tree->data[side] = data;
    for (unsigned child = 0; child < children; child++) {
        tree->bound[side][child] = at;
        for (uint64_t i = 0; at < end && i < UINT64_C(1) << child; i++) {
            skip(data, &at);
        }
    }
    tree->bound[side][children] = at;
}

void ctn_rooted_repeat(ctn_rooted_t *tree, const void *data, size_t bytes)
{
    tree->whole = true;
    for (unsigned side = CTN_LEFT; side <= CTN_RIGHT; side++) {
        tree->data[side] = data;
        tree->bound[side][0] = bytes;
    }
}

/** Return what a child gets. */
static ctn_rank_block_t part_of(const ctn_rooted_t *tree, unsigned side,
                                unsigned child)
{
    const size_t *bound = tree->bound[side];
    return tree->whole ? (ctn_rank_block_t){tree->data[side], bound[0]}
                       : (ctn_rank_block_t){tree->data[side] + bound[child],
                                            bound[child + 1] - bound[child]};
}

/** Send to the farthest children first: they have the largest subtrees. */
ctn_step_t ctn_rooted_send_down(ctn_op_t *op)
{
    const ctn_rooted_t *tree = ctn_op_state(op);
    catena_status_t status = CATENA_OK;
    for (unsigned child = CTN_ROOTED_ROUNDS; child-- > 0;) {
        for (unsigned side = CTN_LEFT; side <= CTN_RIGHT; side++) {
            if (status == CATENA_OK && child < tree->children[side]) {
                ctn_rank_block_t part = part_of(tree, side, child);
                status = send_zcopy(op, side, child, part.data, part.bytes);
            }
        }
    }
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

ctn_step_t ctn_rooted_await_children(ctn_op_t *op)
{
    const ctn_rooted_t *tree = ctn_op_state(op);
    for (unsigned side = CTN_LEFT; side <= CTN_RIGHT; side++) {
        for (unsigned child = 0; child < tree->children[side]; child++) {
            if (!is_sent(op, side, child, part_of(tree, side, child).bytes)) {
                return CTN_STEP_WAIT;
            }
        }
    }
    return CTN_STEP_NEXT;
}
