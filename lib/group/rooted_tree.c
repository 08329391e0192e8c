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

/* ---- messages to and from the member 2^round away on `side` ---- */

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

static void send(ctn_rooted_t *tree, unsigned side, unsigned round,
                 const void *data, size_t bytes)
{
    ctn_rounds_send(&tree->rounds, side, member_at(tree, side, round),
                    slot_of(!side, round), data, bytes);
}

static void receive(ctn_rooted_t *tree, unsigned side, unsigned round)
{
    int64_t away = INT64_C(1) << round;
    ctn_rounds_receive(
        &tree->rounds, side, member_at(tree, side, round), slot_of(side, round),
        tree->chain->place.rank + (side == CTN_LEFT ? -away : away));
}

/** Consume the messages of a round. The parent's message is kept. */
static catena_status_t take(ctn_op_t *op, unsigned index)
{
    ctn_rooted_t *tree = ctn_op_state(op);
    catena_status_t status = CATENA_OK;
    (void)index;
    for (unsigned side = CTN_LEFT; side <= CTN_RIGHT; side++) {
        ctn_receive_handle_t *handle = &tree->rounds.handle[side];
        if (handle->data == NULL || status != CATENA_OK) {
            continue;
        }
        if (!tree->is_root && side == tree->up) {
            tree->from_parent = *handle;
            *handle = (ctn_receive_handle_t){.data = NULL};
            handle = &tree->from_parent;
        }
        status = tree->incoming(op, side, handle);
    }
    return status;
}

void ctn_rooted_drop(ctn_op_t *op)
{
    ctn_rooted_t *tree = ctn_op_state(op);
    ctn_rounds_release(op, &tree->rounds);
    ctn_receive_handle_release(op, &tree->from_parent);
}

/** Run the rounds of one direction, and prepare for the other one. */
static ctn_step_t run_rounds(ctn_op_t *op,
                             const ctn_rounds_schedule_t *schedule)
{
    ctn_rooted_t *tree = ctn_op_state(op);
    ctn_step_t step = ctn_rounds_run(op, &tree->rounds, schedule);
    if (step == CTN_STEP_NEXT) {
        ctn_rounds_begin(&tree->rounds, 0);
    }
    return step;
}

/* ---- up ---- */

static unsigned most_children(const ctn_rooted_t *tree)
{
    return tree->children[CTN_LEFT] > tree->children[CTN_RIGHT]
               ? tree->children[CTN_LEFT]
               : tree->children[CTN_RIGHT];
}

static bool set_round_up(ctn_op_t *op, unsigned index)
{
    ctn_rooted_t *tree = ctn_op_state(op);
    unsigned last = most_children(tree);
    for (unsigned side = CTN_LEFT; side <= CTN_RIGHT; side++) {
        if (index < tree->children[side]) {
            receive(tree, side, index);
        }
    }
    if (index == last && !tree->is_root) {
        send(tree, tree->up, tree->up_round, tree->subtree->memory,
             tree->subtree->bytes);
    }
    return index < last + !tree->is_root;
}

ctn_step_t ctn_rooted_up(ctn_op_t *op)
{
    static const ctn_rounds_schedule_t schedule = {.round = set_round_up,
                                                   .take = take};
    return run_rounds(op, &schedule);
}

/* ---- down ---- */

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

/** Send a child what it gets. */
static void send_part(ctn_rooted_t *tree, unsigned side, unsigned child)
{
    const size_t *bound = tree->bound[side];
    size_t at = tree->whole ? 0 : bound[child];
    size_t end = tree->whole ? bound[0] : bound[child + 1];
    send(tree, side, child, tree->data[side] + at, end - at);
}

/** First the message from the parent, then one to each child, the farthest
 * first: they have the largest subtrees. */
static bool set_round_down(ctn_op_t *op, unsigned index)
{
    ctn_rooted_t *tree = ctn_op_state(op);
    if (index == 0) {
        if (!tree->is_root) {
            receive(tree, tree->up, tree->up_round);
        }
        return true;
    }
    unsigned left =
        most_children(tree) + 1 - index; /* children, and this one */
    for (unsigned side = CTN_LEFT; side <= CTN_RIGHT; side++) {
        if (left > 0 && left <= tree->children[side]) {
            send_part(tree, side, left - 1);
        }
    }
    return left > 0;
}

ctn_step_t ctn_rooted_down(ctn_op_t *op)
{
    static const ctn_rounds_schedule_t schedule = {.round = set_round_down,
                                                   .take = take};
    return run_rounds(op, &schedule);
}
