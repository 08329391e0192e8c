/* Reduction, and fan-in, which is one of nothing, up a tree to any root. The
 * binomial tree is that of Thakur, Rabenseifner, Gropp: Optimization of
 * Collective Communication Operations in MPICH, IJHPCA 19, 2005, section 4.5,
 * but with the root in its middle, see tree.c: so the order of members is kept
 * for any root, and operations need not commute. What is combined with what
 * does not depend on who comes first, so neither do the bits of the result.
 * Rounds: ceil(log2 m); of a chain up to m - 1; linear: one. Messages: m - 1.
 * Memory: none; members fold into their payloads, the root into its result. */

#include "coll/bcol/p2p/p2p.h"

/* Up to here all send to the root by themselves. */
enum { LINEAR_MEMBERS = 4 };

typedef struct reduction {
    ctn_p2p_call_t call; /* first */
    /* arguments */
    ctn_p2p_shape_t shape;
    size_t bytes;
    /* working */
    ctn_p2p_tree_t tree;
    const void *value; /* of the members heard of */
    unsigned heard;    /* children */
} reduction_t;

static bool is_root(const reduction_t *reduction)
{
    return reduction->tree.parent == reduction->call.p2p->size;
}

static ctn_step_t begin(ctn_op_t *op)
{
    reduction_t *reduction = ctn_op_state(op);
    const ctn_basic_t *basic = reduction->call.basic;
    ctn_p2p_begin(op);
    ctn_p2p_plant(reduction->call.p2p, reduction->shape, basic->root,
                  &reduction->tree);
    reduction->value = basic->in;
    reduction->heard = 0;
    return CTN_STEP_NEXT;
}

static ctn_step_t collect(ctn_op_t *op)
{
    reduction_t *reduction = ctn_op_state(op);
    const ctn_p2p_t *p2p = reduction->call.p2p;
    for (; reduction->heard < reduction->tree.children; reduction->heard++) {
        const struct ctn_p2p_child *child =
            &reduction->tree.child[reduction->heard];
        unsigned char *theirs;
        ctn_step_t step = ctn_p2p_receive_vector(op, child->member, child->slot,
                                                 reduction->bytes, &theirs);
        if (step != CTN_STEP_NEXT) {
            return step;
        }
        bool is_left = child->member < p2p->me;
        void *out = is_root(reduction) ? reduction->call.basic->out : theirs;
        catena_status_t status = ctn_p2p_reduce(
            op, is_left ? theirs : reduction->value,
            is_left ? reduction->value : theirs, out, reduction->bytes);
        if (status != CATENA_OK) {
            return ctn_op_fail(op, status);
        }
        reduction->value = out;
    }
    return CTN_STEP_NEXT;
}

static ctn_step_t pass_on(ctn_op_t *op)
{
    reduction_t *reduction = ctn_op_state(op);
    const ctn_p2p_tree_t *tree = &reduction->tree;
    catena_status_t status = CATENA_OK;
    if (is_root(reduction)) {
        ctn_p2p_copy(op, reduction->call.basic->out, reduction->value,
                     reduction->bytes);
    } else {
        status = ctn_p2p_send(op, tree->parent, tree->slot, 0, reduction->value,
                              reduction->bytes);
    }
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

static const ctn_phase_t phases[] = {
    {"begin", begin}, {"collect", collect}, {"pass on", pass_on}, {NULL, NULL}};

static const ctn_algorithm_t algorithm = {
    .name = "p2p/reduce",
    .state_bytes = sizeof(reduction_t),
    .phases = phases,
};

static ctn_op_t *create(ctn_module_t *module, const ctn_basic_t *basic,
                        size_t bytes)
{
    const ctn_p2p_t *p2p = (const ctn_p2p_t *)module;
    ctn_op_t *op = ctn_p2p_create(module, &algorithm, basic);
    if (op != NULL) {
        reduction_t *reduction = ctn_op_state(op);
        reduction->bytes = bytes;
        reduction->shape = ctn_p2p_choose_shape(
            p2p, basic,
            p2p->size <= LINEAR_MEMBERS ? CTN_P2P_LINEAR : CTN_P2P_BINOMIAL);
    }
    return op;
}

ctn_op_t *ctn_p2p_reduction(ctn_module_t *module, const ctn_basic_t *basic)
{
    return create(module, basic, basic->bytes);
}

ctn_op_t *ctn_p2p_fanin(ctn_module_t *module, const ctn_basic_t *basic)
{
    return create(module, basic, 0);
}
