#ifndef CTN_COLL_BCOL_P2P_TREE_H
#define CTN_COLL_BCOL_P2P_TREE_H

#include "coll/bcol/p2p/p2p.h"

/* Trees of members: one-sided, and made of two of these, two-sided.
 *
 * One-sided: a member's *place* is its distance from the root: place p
 * is member (root + p) mod size. With radix k, place p = q * k^l, where q is no
 * multiple of k, has a child at p + j * k^d for each d < l and 0 < j < k; place
 * 0 has all of those below `size`. The places from a child up to the next child
 * are the first one's subtree, so a subtree is a range of places. Radix 2 is
 * the binomial tree; with radix `size` all other places are children of the
 * root. */

/** A tree, and the place of this member in it. */
typedef struct ctn_ktree {
    uint32_t size;     /* number of members */
    uint32_t root;     /* a member */
    uint32_t radix;    /* at least 2 */
    uint32_t place;    /* this member's */
    uint32_t span;     /* places of its subtree, its own included */
    uint32_t parent;   /* a member; of the root: itself */
    unsigned index;    /* among the children of the parent */
    unsigned children; /* number of them */
} ctn_ktree_t;

/** A child's subtree. */
typedef struct ctn_branch {
    uint32_t place; /* of the child, the first one of the subtree */
    uint32_t span;  /* number of places */
} ctn_branch_t;

/** The member at a place. */
static inline uint32_t ctn_ktree_member(const ctn_ktree_t *tree, uint32_t place)
{
    uint32_t before_end = tree->size - tree->root;
    return place < before_end ? tree->root + place : place - before_end;
}

/** Child `index`; places ascend with the index. Span 0: there is no such
 * child. */
ctn_branch_t ctn_ktree_child(const ctn_ktree_t *tree, unsigned index);

/** Set a tree for member `me`. */
void ctn_ktree_set(ctn_ktree_t *tree, uint32_t size, uint32_t me, uint32_t root,
                   uint32_t radix);

/** The most children of a root, given the number of members. */
unsigned ctn_ktree_most_children(uint32_t size, uint32_t radix);

/* Two-sided: a one-sided tree over the members on each side of the root, so
 * each subtree is a range of members for any root. Children are listed so that
 * reducing them one after the other keeps the order of members: of the children
 * on one side, the nearest to this member comes first. */

/* At most: one on each side for each of 32 bits of a distance. */
#define CTN_P2P_CHILDREN 64u

/** This member's place in a tree. */
typedef struct ctn_p2p_tree {
    uint32_t parent;   /* a member; p2p->size: this member is the root */
    unsigned slot;     /* of this member, at its parent */
    unsigned children; /* number of them */
    struct ctn_p2p_child {
        uint32_t member;
        unsigned slot; /* of the child, at this member */
    } child[CTN_P2P_CHILDREN];
} ctn_p2p_tree_t;

/** Set *tree to this member's place in the tree with that root. */
void ctn_p2p_tree_set(const ctn_p2p_t *p2p, ctn_p2p_shape_t shape,
                      uint32_t root, ctn_p2p_tree_t *tree);

#endif
