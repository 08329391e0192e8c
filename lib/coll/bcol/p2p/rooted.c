/* P2P-2: up a tree to a root, or down from it: reduce and bcast, for any root;
 * fan-in and fan-out, which are the same without data; and an allreduce that
 * does one after the other.
 *
 * The binomial tree is that of Thakur, Rabenseifner, Gropp: Optimization of
 * Collective Communication Operations in MPICH, IJHPCA 19, 2005, sections 4.2
 * and 4.5, but with the root in its middle (see tree.c): the order of members
 * is kept for any root, and operations need not commute. The order of reduction
 * does not depend on the order of arrival, so the result has the same bits in
 * each run.
 * Rounds each way: ceil(log2 m); chain: up to m - 1, which many chunks in a
 * pipeline make up for; linear: one. Messages each way: m - 1. Memory: none;
 * members reduce into their eager buffers and send from there, the root reduces
 * into its result. */

#include "coll/bcol/p2p/p2p.h"

typedef struct rooted {
    ctn_p2p_call_t call; /* first */
    /* arguments */
    ctn_p2p_shape_t shape;
    size_t bytes;
    bool down_only; /* only the root has the vector */
    bool up_and_down;
    /* working */
    ctn_p2p_tree_t tree;
    const void *value; /* of the members received from; the result */
    unsigned received; /* from so many children */
    size_t passed;     /* bytes that go down, as the root has them */
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
    rooted->passed = rooted->bytes;
    ctn_p2p_tree_set(rooted->call.p2p, rooted->shape,
                     rooted->up_and_down ? 0 : basic->root, &rooted->tree);
    rooted->value = rooted->down_only ? basic->out : basic->in;
    rooted->received = 0;
    return CTN_STEP_NEXT;
}

/* ---- up ---- */

static catena_status_t fold(ctn_op_t *op, rooted_t *rooted, bool is_left,
                            unsigned char *theirs)
{
    void *out = is_root(rooted) ? rooted->call.basic->out : theirs;
    const void *left = is_left ? theirs : rooted->value;
    const void *right = is_left ? rooted->value : theirs;
    rooted->value = out;
    return ctn_p2p_reduce(op, left, right, out, rooted->bytes);
}

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

/** No child of a member with a parent uses this slot. */
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
        rooted->passed = rooted->call.found;
    }
    return step;
}

/** Send a vector down; one of another length than this member's may be right
 * for other members. */
static catena_status_t send_down(ctn_op_t *op, uint32_t to, const void *source)
{
    const rooted_t *rooted = ctn_op_state(op);
    bool passes = rooted->down_only && !is_root(rooted) &&
                  rooted->passed != CTN_MESSAGE_MISMATCH;
    return passes ? ctn_p2p_send(op, to, slot_down(rooted),
                                 rooted->call.signature, source, rooted->passed)
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
