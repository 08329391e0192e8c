#ifndef CTN_COLL_BCOL_P2P_KTREE_H
#define CTN_COLL_BCOL_P2P_KTREE_H

#include <stdint.h>

/* Trees of members, numbered by places from the root on: place p is member
 * (root + p) mod size. With radix k, place p = q * k^l, where q is no multiple
 * of k, has a child at p + j * k^d for each d < l and 0 < j < k. The places
 * from a child to the next child are that child's subtree, so a subtree is a
 * range of places. Radix 2 is the binomial tree; with radix `size` all places
 * are children of the root. */

typedef struct ctn_ktree {
    uint32_t size;
    uint32_t root;   /* a member */
    uint32_t radix;  /* at least 2 */
    uint32_t place;  /* this member's */
    uint32_t span;   /* places of its subtree, its own included */
    uint32_t parent; /* a member; of the root: itself */
    unsigned index;  /* among the children of the parent */
    unsigned children;
} ctn_ktree_t;

typedef struct ctn_branch {
    uint32_t place;
    uint32_t span;
} ctn_branch_t;

static inline uint32_t ctn_ktree_member(const ctn_ktree_t *tree, uint32_t place)
{
    uint32_t before_end = tree->size - tree->root;
    return place < before_end ? tree->root + place : place - before_end;
}

/** Child `index`; places ascend with the index. Span 0: there is no such
 * child. */
ctn_branch_t ctn_ktree_child(const ctn_ktree_t *tree, unsigned index);

/** Set all of a tree. */
void ctn_ktree_set(ctn_ktree_t *tree, uint32_t size, uint32_t me, uint32_t root,
                   uint32_t radix);

/** The most children of a root, given the number of members. */
unsigned ctn_ktree_most_children(uint32_t size, uint32_t radix);

#endif
