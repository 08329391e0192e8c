#include "coll/bcol/p2p/ktree.h"

/** Distance of child `index` from its parent, in places.
 * @param[out] below places of the child's subtree, unless the tree ends
 * earlier */
static uint64_t distance(const ctn_ktree_t *tree, unsigned index,
                         uint64_t *below)
{
    uint64_t weight = 1;               /* k^d, see ktree.h */
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
    unsigned level = 0;  /* l, see ktree.h */
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
