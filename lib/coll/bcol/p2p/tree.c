/* P2P-2: trees over the members of a subgroup. With radix 2 a two-sided tree is
 * that of group/rooted_tree.h. Depth: ceil(log2 m). */

#include <assert.h>

#include "coll/bcol/p2p/tree.h"

/* ---- one-sided ---- */

/** Distance of child `index` from its parent, in places.
 * @param[out] below places of the child's subtree, unless the tree ends
 * earlier */
static uint64_t distance(const ctn_ktree_t *tree, unsigned index,
                         uint64_t *below)
{
    uint64_t weight = 1;               /* k^d, see tree.h */
    unsigned others = tree->radix - 1; /* children for each d */
    for (; index >= others && weight < tree->size; index -= others) {
        weight *= tree->radix;
    }
    *below = weight;
    return weight * (index + 1);
}

ctn_branch_t ctn_ktree_child(const ctn_ktree_t *tree, unsigned index)
{
    uint64_t below;
    uint64_t place = tree->place + distance(tree, index, &below);
    if (place >= tree->size) {
        return (ctn_branch_t){tree->size, 0};
    }
    uint64_t rest = tree->size - place;
    return (ctn_branch_t){(uint32_t)place,
                          (uint32_t)(rest < below ? rest : below)};
}

void ctn_ktree_set(ctn_ktree_t *tree, uint32_t size, uint32_t me, uint32_t root,
                   uint32_t radix)
{
    uint32_t place = me >= root ? me - root : me + (size - root);
    *tree = (ctn_ktree_t){
        .size = size, .root = root, .radix = radix, .place = place};
    uint64_t weight = 1; /* k^level */
    unsigned level = 0;  /* l, see tree.h */
    while (place == 0 ? weight < size : place / weight % radix == 0) {
        weight *= radix;
        level++;
    }
    uint64_t rest = size - place;
    tree->span = (uint32_t)(rest < weight ? rest : weight);
    tree->parent = root;
    if (place > 0) {
        uint32_t digit = (uint32_t)(place / weight % radix);
        tree->parent =
            ctn_ktree_member(tree, (uint32_t)(place - digit * weight));
        tree->index = level * (radix - 1) + digit - 1;
    }
    while (tree->children < level * (radix - 1) &&
           ctn_ktree_child(tree, tree->children).span > 0) {
        tree->children++;
    }
}

unsigned ctn_ktree_most_children(uint32_t size, uint32_t radix)
{
    ctn_ktree_t tree;
    ctn_ktree_set(&tree, size, 0, 0, radix);
    return tree.children;
}

/* ---- two-sided ---- */

/** The side of the root on which a member is; 0: left. */

/** The member at a place of the tree on one side. */
static uint32_t member_on(uint32_t root, unsigned side, uint32_t place)
{
    return side == CTN_RIGHT ? root + place : root - place;
}

/** The slot, at its parent, of child `index` on a side. */
static unsigned slot_of(ctn_p2p_shape_t shape, uint32_t root, unsigned side,
                        unsigned index)
{
    if (shape != CTN_P2P_LINEAR) {
        return 2 * index + side;
    }
    return side == CTN_RIGHT ? root + index : root - 1 - index;
}

/** Set this member's place in the tree on one side. A chain has the first child
 * of each member only. */
static void set_side(const ctn_p2p_t *p2p, ctn_p2p_shape_t shape, uint32_t root,
                     unsigned side, ctn_ktree_t *tree)
{
    uint32_t size = 1 + (side == CTN_RIGHT ? p2p->size - 1 - root : root);
    uint32_t place = side == CTN_RIGHT ? p2p->me - root : root - p2p->me;
    ctn_ktree_set(tree, size, place, 0,
                  shape == CTN_P2P_LINEAR && size > 2 ? size : 2);
    if (shape == CTN_P2P_CHAIN) {
        tree->children = place + 1 < size;
        tree->parent = place - 1;
        tree->index = 0;
    }
}

void ctn_p2p_tree_set(const ctn_p2p_t *p2p, ctn_p2p_shape_t shape,
                      uint32_t root, ctn_p2p_tree_t *tree)
{
    ctn_ktree_t side[2] = {{.children = 0}, {.children = 0}};
    tree->parent = p2p->size;
    tree->slot = 0;
    tree->children = 0;
    for (unsigned s = CTN_LEFT; s <= CTN_RIGHT; s++) {
        if (p2p->me != root && (p2p->me > root) != (s == CTN_RIGHT)) {
            continue;
        }
        set_side(p2p, shape, root, s, &side[s]);
        if (p2p->me != root) {
            tree->parent = member_on(root, s, side[s].parent);
            tree->slot = slot_of(shape, root, s, side[s].index);
        }
    }
    for (unsigned i = 0; i < side[0].children || i < side[1].children; i++) {
        for (unsigned s = CTN_LEFT; s <= CTN_RIGHT; s++) {
            if (i < side[s].children) {
                assert(tree->children < CTN_P2P_CHILDREN);
                tree->child[tree->children++] = (struct ctn_p2p_child){
                    member_on(root, s, ctn_ktree_child(&side[s], i).place),
                    slot_of(shape, root, s, i)};
            }
        }
    }
}
