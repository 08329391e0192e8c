/* Broadcast, and fan-out, which is one of nothing, down a tree from any root.
 * The binomial tree is that of Thakur, Rabenseifner, Gropp: Optimization of
 * Collective Communication Operations in MPICH, IJHPCA 19, 2005, section 4.2,
 * but with the root in its middle, see tree.c.
 * Rounds: ceil(log2 m); of a chain up to m - 1, which many segments one behind
 * the other make up for; linear: one. Messages: m - 1. Memory: none; members
 * pass on what lies in their payload. */

#include "coll/bcol/p2p/p2p.h"

/* Up to here the root sends to all by itself. */
enum { LINEAR_MEMBERS = 4 };

typedef struct bcast {
    ctn_p2p_call_t call; /* first */
    /* arguments */
    ctn_p2p_shape_t shape;
    size_t bytes;
    /* working */
    ctn_p2p_tree_t tree;
    const void *source;
} bcast_t;

static bool is_root(const bcast_t *bcast)
{
    return bcast->tree.parent == bcast->call.p2p->size;
}

static ctn_step_t begin(ctn_op_t *op)
{
    bcast_t *bcast = ctn_op_state(op);
    const ctn_basic_t *basic = bcast->call.basic;
    ctn_p2p_begin(op);
    ctn_p2p_plant(bcast->call.p2p, bcast->shape, basic->root, &bcast->tree);
    bcast->source = basic->out;
    return CTN_STEP_NEXT;
}

static ctn_step_t receive(ctn_op_t *op)
{
    bcast_t *bcast = ctn_op_state(op);
    if (is_root(bcast)) {
        return CTN_STEP_NEXT;
    }
    unsigned char *data = NULL;
    ctn_step_t step =
        ctn_p2p_receive_vector(op, bcast->tree.parent, 0, bcast->bytes, &data);
    bcast->source = data;
    return step;
}

/** The farthest first: they have most to do. */
static ctn_step_t pass_on(ctn_op_t *op)
{
    bcast_t *bcast = ctn_op_state(op);
    const ctn_p2p_tree_t *tree = &bcast->tree;
    for (unsigned i = tree->children; i-- > 0;) {
        catena_status_t status = ctn_p2p_send(op, tree->child[i].member, 0, 0,
                                              bcast->source, bcast->bytes);
        if (status != CATENA_OK) {
            return ctn_op_fail(op, status);
        }
    }
    ctn_p2p_copy(op, bcast->call.basic->out, bcast->source, bcast->bytes);
    return CTN_STEP_NEXT;
}

static const ctn_phase_t phases[] = {
    {"begin", begin}, {"receive", receive}, {"pass on", pass_on}, {NULL, NULL}};

static const ctn_algorithm_t algorithm = {
    .name = "p2p/bcast",
    .state_bytes = sizeof(bcast_t),
    .phases = phases,
};

static ctn_op_t *create(ctn_module_t *module, const ctn_basic_t *basic,
                        size_t bytes)
{
    const ctn_p2p_t *p2p = (const ctn_p2p_t *)module;
    ctn_op_t *op = ctn_p2p_create(module, &algorithm, basic);
    if (op != NULL) {
        bcast_t *bcast = ctn_op_state(op);
        bcast->bytes = bytes;
        bcast->shape = ctn_p2p_choose_shape(
            p2p, basic,
            p2p->size <= LINEAR_MEMBERS ? CTN_P2P_LINEAR : CTN_P2P_BINOMIAL);
    }
    return op;
}

ctn_op_t *ctn_p2p_bcast(ctn_module_t *module, const ctn_basic_t *basic)
{
    return create(module, basic, basic->bytes);
}

ctn_op_t *ctn_p2p_fanout(ctn_module_t *module, const ctn_basic_t *basic)
{
    return create(module, basic, 0);
}
