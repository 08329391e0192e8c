/* P2P-2: trees over the members of a subgroup. The binomial tree is that of
 * group/rooted_tree.h: for a member at distance v from the root, with d the
 * lowest bit set in v, the parent is 2^d nearer to the root, and the children
 * are 2^0 to 2^(d - 1) further away. Depth: ceil(log2 m). */

#include <assert.h>

#include "coll/bcol/p2p/p2p.h"

static void add(ctn_p2p_tree_t *tree, uint32_t member, unsigned slot)
{
    assert(tree->children < CTN_P2P_CHILDREN);
    tree->child[tree->children++] = (struct ctn_p2p_child){member, slot};
}

/** Add the children at distances 1, 2, 4, ..., up to `most` of them, on each
 * side on which there are members further from the root. Those at distance 2^d
 * have slots 2d (left) and 2d + 1 (right). */
static void add_children(const ctn_p2p_t *p2p, uint32_t root, unsigned most,
                         ctn_p2p_tree_t *tree)
{
    uint32_t me = p2p->me;
    uint32_t left = me <= root ? me : 0; /* members on that side */
    uint32_t right = me >= root ? p2p->size - 1 - me : 0;
    for (unsigned d = 0; d < most; d++) {
        uint64_t away = UINT64_C(1) << d;
        if (away <= left) {
            add(tree, (uint32_t)(me - away), 2 * d);
        }
        if (away <= right) {
            add(tree, (uint32_t)(me + away), 2 * d + 1);
        }
    }
}

/** A binomial tree or a chain, with branches on both sides of the root. */
static void set_two_sided(const ctn_p2p_t *p2p, bool chain, uint32_t root,
                          ctn_p2p_tree_t *tree)
{
    uint32_t me = p2p->me;
    unsigned most = chain ? 1 : p2p->rounds;
    if (me != root) {
        bool is_right = me > root;
        uint32_t away = is_right ? me - root : root - me;
        unsigned d = chain ? 0 : (unsigned)__builtin_ctz(away);
        uint32_t step = UINT32_C(1) << d;
        tree->parent = is_right ? me - step : me + step;
        tree->slot = 2 * d + is_right;
        most = chain ? 1 : d;
    }
    add_children(p2p, root, most, tree);
}

static void set_linear(const ctn_p2p_t *p2p, uint32_t root,
                       ctn_p2p_tree_t *tree)
{
    if (p2p->me != root) {
        tree->parent = root;
        tree->slot = p2p->me < root ? p2p->me : p2p->me - 1;
        return;
    }
    for (uint32_t i = root; i-- > 0;) {
        add(tree, i, i);
    }
    for (uint32_t i = root + 1; i < p2p->size; i++) {
        add(tree, i, i - 1);
    }
}

void ctn_p2p_tree_set(const ctn_p2p_t *p2p, ctn_p2p_shape_t shape,
                      uint32_t root, ctn_p2p_tree_t *tree)
{
    tree->parent = p2p->size;
    tree->slot = 0;
    tree->children = 0;
    if (shape == CTN_P2P_LINEAR) {
        set_linear(p2p, root, tree);
    } else {
        set_two_sided(p2p, shape == CTN_P2P_CHAIN, root, tree);
    }
}
