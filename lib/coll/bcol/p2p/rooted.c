/* P2P-2: collectives up a tree to a root (reduce, and fan-in, the same without
 * data), down from it (bcast; fan-out, the same without data), or first up and
 * then down (allreduce; barrier, the same without data).
 *
 * The binomial tree is that of Thakur, Rabenseifner, Gropp: Optimization of
 * Collective Communication Operations in MPICH, IJHPCA 19, 2005, sections 4.2
 * and 4.5, but with the root in its middle (see tree.c): the order of members
 * is kept for any root, and operations need not commute. The order of reduction
 * does not depend on the order of arrival, so the result has the same bits in
 * each run.
 * Rounds each way: ceil(log2 m); in a chain up to m - 1, which costs little
 * when many chunks go through it in a pipeline; in a linear tree one. Messages
 * each way: m - 1. Memory: none; members reduce into their eager buffers and
 * send from there, the root reduces into its receive buffer. */

#include "coll/bcol/p2p/p2p.h"

/** State of the operation. */
typedef struct rooted {
    ctn_p2p_call_t call; /* first */
    /* arguments */
    ctn_p2p_shape_t shape;
    size_t bytes;     /* of the vector, on this member; 0 without data */
    bool down_only;   /* bcast, fan-out */
    bool up_and_down; /* allreduce, barrier */
    /* working */
    ctn_p2p_tree_t tree;
    const void *value;     /* up: of this member and the children received from;
                              down: the vector received */
    unsigned received;     /* number of children received from */
    size_t received_bytes; /* of the vector that came down; `bytes`, or another
                              length if the root has that */
} rooted_t;

static bool is_root(const rooted_t *rooted)
{
    return rooted->tree.parent == rooted->call.p2p->size;
}

static ctn_step_t begin(ctn_op_t *op)
{
    rooted_t *rooted = ctn_op_state(op);
    const ctn_basic_coll_t *basic = rooted->call.basic;
    ctn_p2p_begin_vector(op, rooted->shape);
    rooted->received_bytes = rooted->bytes;
    ctn_p2p_tree_set(rooted->call.p2p, rooted->shape,
                     rooted->up_and_down ? 0 : basic->root, &rooted->tree);
    rooted->value = rooted->down_only ? basic->out : basic->in;
    rooted->received = 0;
    return CTN_STEP_NEXT;
}

/* ---- up ---- */

/** Reduce a child's value with this member's.
 * @param is_left the child's subtree is of lower members */
static catena_status_t fold(ctn_op_t *op, rooted_t *rooted, bool is_left,
                            unsigned char *theirs)
{
    void *out = is_root(rooted) ? rooted->call.basic->out : theirs;
    const void *left = is_left ? theirs : rooted->value;
    const void *right = is_left ? rooted->value : theirs;
    rooted->value = out;
    return ctn_p2p_reduce(op, left, right, out, rooted->bytes);
}

/** Receive from the children, in the order of the list. */
static ctn_step_t collect(ctn_op_t *op)
{
    rooted_t *rooted = ctn_op_state(op);
    const ctn_p2p_tree_t *tree = &rooted->tree;
    for (; rooted->received < tree->children; rooted->received++) {
        const struct ctn_p2p_child *child = &tree->child[rooted->received];
        unsigned char *theirs;
        ctn_step_t step = ctn_p2p_receive_vector(op, child->member, child->slot,
                                                 rooted->bytes, &theirs);
        if (step != CTN_STEP_NEXT) {
            return step;
        }
        catena_status_t status =
            fold(op, rooted, child->member < rooted->call.p2p->me, theirs);
        if (status != CATENA_OK) {
            return ctn_op_fail(op, status);
        }
    }
    return CTN_STEP_NEXT;
}

static ctn_step_t hand_up(ctn_op_t *op)
{
    rooted_t *rooted = ctn_op_state(op);
    const ctn_p2p_tree_t *tree = &rooted->tree;
    catena_status_t status = CATENA_OK;
    if (is_root(rooted)) {
        ctn_p2p_copy(op, rooted->call.basic->out, rooted->value, rooted->bytes);
    } else {
        status = ctn_p2p_send_vector(op, tree->parent, tree->slot,
                                     rooted->value, rooted->bytes);
    }
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

/* ---- down ---- */

/** The slot in which a member receives from its parent. No child of a member
 * that has a parent uses it. */
static unsigned slot_down(const rooted_t *rooted)
{
    return 2 * rooted->call.p2p->rounds;
}

static ctn_step_t receive(ctn_op_t *op)
{
    rooted_t *rooted = ctn_op_state(op);
    unsigned char *data = NULL;
    if (is_root(rooted)) {
        return CTN_STEP_NEXT;
    }
    ctn_step_t step = ctn_p2p_receive_vector(
        op, rooted->tree.parent, slot_down(rooted), rooted->bytes, &data);
    rooted->value = data;
    if (step == CTN_STEP_NEXT && rooted->call.status != CATENA_OK) {
        rooted->received_bytes = rooted->call.found;
    }
    return step;
}

/** Send a vector down. A bcast forwards it as it was received: if its length is
 * wrong for this member, it may be right for other members. */
static catena_status_t send_down(ctn_op_t *op, uint32_t to, const void *source)
{
    const rooted_t *rooted = ctn_op_state(op);
    bool forwards = rooted->down_only && !is_root(rooted) &&
                    rooted->received_bytes != CTN_MESSAGE_MISMATCH;
    return forwards
               ? ctn_p2p_send(op, to, slot_down(rooted), rooted->call.signature,
                              source, rooted->received_bytes)
               : ctn_p2p_send_vector(op, to, slot_down(rooted), source,
                                     rooted->bytes);
}

/** Send to the farthest child first, whose subtree is the largest. */
static ctn_step_t hand_down(ctn_op_t *op)
{
    rooted_t *rooted = ctn_op_state(op);
    const ctn_p2p_tree_t *tree = &rooted->tree;
    const void *source =
        is_root(rooted) ? rooted->call.basic->out : rooted->value;
    for (unsigned i = tree->children; i-- > 0;) {
        catena_status_t status = send_down(op, tree->child[i].member, source);
        if (status != CATENA_OK) {
            return ctn_op_fail(op, status);
        }
    }
    return CTN_STEP_NEXT;
}

/** Copy the vector that came down to this member's receive buffer. */
static ctn_step_t keep(ctn_op_t *op)
{
    rooted_t *rooted = ctn_op_state(op);
    if (is_root(rooted)) {
        return CTN_STEP_NEXT;
    }
    if (rooted->up_and_down && !ctn_p2p_may_write(op)) {
        return CTN_STEP_WAIT;
    }
    ctn_p2p_copy(op, rooted->call.basic->out, rooted->value, rooted->bytes);
    return CTN_STEP_NEXT;
}

/* ---- the operations ---- */

#define END                                                                    \
    {"end", ctn_p2p_end_vector},                                               \
    {                                                                          \
        NULL, NULL                                                             \
    }

static const ctn_phase_t up[] = {
    {"begin", begin}, {"collect", collect}, {"hand up", hand_up}, END};

static const ctn_phase_t down[] = {{"begin", begin},
                                   {"receive", receive},
                                   {"hand down", hand_down},
                                   {"keep", keep},
                                   END};

static const ctn_phase_t up_and_down[] = {{"begin", begin},
                                          {"collect", collect},
                                          {"hand up", hand_up},
                                          {"receive", receive},
                                          {"hand down", hand_down},
                                          {"keep", keep},
                                          END};

static const ctn_algorithm_t algorithm_up = {
    .name = "p2p/reduce",
    .state_bytes = sizeof(rooted_t),
    .phases = up,
};

static const ctn_algorithm_t algorithm_down = {
    .name = "p2p/bcast",
    .state_bytes = sizeof(rooted_t),
    .phases = down,
};

static const ctn_algorithm_t algorithm_up_and_down = {
    .name = "p2p/up and down",
    .state_bytes = sizeof(rooted_t),
    .phases = up_and_down,
    .synchronizing = true,
};

/** @param[out] op NULL: no memory; then return NULL, too */
static rooted_t *create(ctn_module_t *module, const ctn_algorithm_t *algorithm,
                        const ctn_basic_coll_t *basic, size_t bytes,
                        ctn_op_t **op)
{
    *op = ctn_p2p_create(module, algorithm, basic);
    if (*op == NULL) {
        return NULL;
    }
    rooted_t *rooted = ctn_op_state(*op);
    rooted->bytes = bytes;
    rooted->shape = ctn_p2p_choose_shape(rooted->call.p2p, basic,
                                         algorithm != &algorithm_down, bytes);
    return rooted;
}

ctn_op_t *ctn_p2p_reduction(ctn_module_t *module, const ctn_basic_coll_t *basic)
{
    ctn_op_t *op;
    (void)create(module, &algorithm_up, basic, basic->bytes, &op);
    return op;
}

ctn_op_t *ctn_p2p_fanin(ctn_module_t *module, const ctn_basic_coll_t *basic)
{
    ctn_op_t *op;
    (void)create(module, &algorithm_up, basic, 0, &op);
    return op;
}

static ctn_op_t *make_down(ctn_module_t *module, const ctn_basic_coll_t *basic,
                           size_t bytes)
{
    ctn_op_t *op;
    rooted_t *rooted = create(module, &algorithm_down, basic, bytes, &op);
    if (rooted != NULL) {
        rooted->down_only = true;
    }
    return op;
}

ctn_op_t *ctn_p2p_bcast(ctn_module_t *module, const ctn_basic_coll_t *basic)
{
    return make_down(module, basic, basic->bytes);
}

ctn_op_t *ctn_p2p_fanout(ctn_module_t *module, const ctn_basic_coll_t *basic)
{
    return make_down(module, basic, 0);
}

static ctn_op_t *make_up_and_down(ctn_module_t *module,
                                  const ctn_basic_coll_t *basic, size_t bytes)
{
    ctn_op_t *op;
    rooted_t *rooted =
        create(module, &algorithm_up_and_down, basic, bytes, &op);
    if (rooted != NULL) {
        rooted->up_and_down = true;
    }
    return op;
}

ctn_op_t *ctn_p2p_up_and_down(ctn_module_t *module,
                              const ctn_basic_coll_t *basic)
{
    return make_up_and_down(module, basic, basic->bytes);
}

ctn_op_t *ctn_p2p_tree_barrier(ctn_module_t *module,
                               const ctn_basic_coll_t *basic)
{
    return make_up_and_down(module, basic, 0);
}
