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

#include "coll/bcol/p2p/rounds.h"
#include "coll/bcol/p2p/tree.h"

/** State of the operation. */
typedef struct rooted {
    ctn_p2p_rounds_t rounds; /* first; `value`: up, of this member and the
                                children received from; down, the vector
                                received */
    size_t bytes;            /* of the vector, on this member; 0 without data */
    bool up;
    bool down;
    bool balanced; /* up by the balanced tree, as P2P-13; then down */
    ctn_p2p_tree_t tree;
} rooted_t;

static bool is_root(const rooted_t *rooted)
{
    return rooted->tree.parent == rooted->rounds.call.p2p->size;
}

static void begin(ctn_op_t *op)
{
    rooted_t *rooted = ctn_op_state(op);
    const ctn_p2p_call_t *call = &rooted->rounds.call;
    const ctn_basic_coll_t *basic = call->basic;
    ctn_basic_kind_t kind = call->kind;
    bool data =
        kind == CTN_BCAST || kind == CTN_REDUCE || kind == CTN_ALLREDUCE;
    rooted->bytes = data ? basic->bytes : 0;
    rooted->up = kind != CTN_BCAST && kind != CTN_FANOUT;
    rooted->down = kind != CTN_REDUCE && kind != CTN_FANIN;
    rooted->balanced = kind == CTN_ALLREDUCE && basic->balanced;
    ctn_p2p_shape_t shape =
        rooted->balanced
            ? CTN_P2P_BINOMIAL
            : ctn_p2p_choose_shape(call->p2p, basic, rooted->up, rooted->bytes);
    ctn_p2p_begin_vector(op,
                         rooted->balanced ? CTN_P2P_BALANCED : (unsigned)shape);
    ctn_p2p_tree_set(call->p2p, shape,
                     rooted->up && rooted->down ? 0 : basic->root,
                     &rooted->tree);
    ctn_p2p_rounds_begin(op);
}

/** Round `index` of the way up: receive from the children, in the order of the
 * list; then send to the parent. */
static void go_up(rooted_t *rooted, unsigned index)
{
    const ctn_p2p_tree_t *tree = &rooted->tree;
    ctn_p2p_rounds_t *rounds = &rooted->rounds;
    void *out = rounds->call.basic->out;
    if (index < tree->children) {
        const struct ctn_p2p_child *child = &tree->child[index];
        ctn_p2p_round_receive(rounds, child->member, child->slot,
                              rooted->bytes);
        ctn_p2p_round_reduce(rounds, rounds->value,
                             is_root(rooted) ? out : NULL);
    } else if (is_root(rooted)) {
        ctn_p2p_round_copy(rounds, out, rooted->bytes);
    } else {
        ctn_p2p_round_send(rounds, tree->parent, tree->slot, rounds->value,
                           rooted->bytes);
    }
}

/** Round `index` of the way down: receive from the parent; then send to the
 * children, to the farthest first, whose subtree is the largest; then copy the
 * vector to the receive buffer. A bcast forwards a vector as it was received:
 * if its length is wrong for this member, it may be right for other members. */
static void go_down(rooted_t *rooted, unsigned index)
{
    const ctn_p2p_tree_t *tree = &rooted->tree;
    ctn_p2p_rounds_t *rounds = &rooted->rounds;
    const ctn_p2p_call_t *call = &rounds->call;
    const ctn_basic_coll_t *basic = call->basic;
    /* In which members receive from their parents. No child of a member that
     * has a parent uses it. */
    unsigned slot = 2 * call->p2p->rounds;
    if (index > 0 && index <= tree->children) {
        uint32_t child = tree->child[tree->children - index].member;
        bool invalid = !rooted->up && !is_root(rooted) &&
                       call->status != CATENA_OK &&
                       call->found != CTN_MESSAGE_MISMATCH;
        const void *data = is_root(rooted) ? basic->out : rounds->value;
        if (invalid) {
            ctn_p2p_round_send_as_is(rounds, child, slot, data, call->found);
        } else {
            ctn_p2p_round_send(rounds, child, slot, data, rooted->bytes);
        }
    } else if (!is_root(rooted) && index == 0) {
        ctn_p2p_round_receive(rounds, tree->parent, slot, rooted->bytes);
        rounds->take = CTN_P2P_KEEP;
    } else if (!is_root(rooted)) {
        ctn_p2p_round_copy(rounds, basic->out, rooted->bytes);
        rounds->rounds.overwrites = rooted->up && basic->in == basic->out;
    }
}

static bool go(ctn_op_t *op, unsigned index)
{
    rooted_t *rooted = ctn_op_state(op);
    unsigned up = rooted->balanced ? ctn_p2p_balanced_rounds(&rooted->rounds)
                  : rooted->up     ? rooted->tree.children + 1
                                   : 0;
    unsigned down = rooted->down ? rooted->tree.children + 2 : 0;
    if (index < up && rooted->balanced) {
        ctn_p2p_balanced_up(&rooted->rounds, 0, index);
    } else if (index < up) {
        go_up(rooted, index);
    } else if (index < up + down) {
        go_down(rooted, index - up);
    }
    return index < up + down;
}

#define ROOTED(its_name, synchronizes)                                         \
    {                                                                          \
        CTN_P2P_ROUNDS(its_name, rooted_t, synchronizes), .begin = begin,      \
                                                          .round = go,         \
    }

const ctn_p2p_schedule_t ctn_p2p_up = ROOTED("p2p/reduce", false);
const ctn_p2p_schedule_t ctn_p2p_down = ROOTED("p2p/bcast", false);
const ctn_p2p_schedule_t ctn_p2p_up_and_down = ROOTED("p2p/up and down", true);
