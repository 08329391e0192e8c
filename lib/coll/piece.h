#ifndef CTN_COLL_PIECE_H
#define CTN_COLL_PIECE_H

#include "coll/plan.h"

/* What travels between two virtual leaders. All blocks from the members of
 * node A to those of node B are one sequence of bytes, in the order [member
 * of B][member of A][byte]: transposed in the gather, so that what each
 * receiver gets is together. It is cut into pieces of CTN_STAGE_BYTES.
 *
 * Nodes meet in rounds, round i pairing node A with node (i - A) mod M;
 * virtual leader l does rounds l, l + L, l + 2L ... The pieces of its k-th
 * round are cells k * F to k * F + F - 1, F being what the two largest nodes
 * need, so that all nodes number cells alike; cells that a pair does not need
 * are passed over. Cell c uses staging slot c mod CTN_STAGE_SLOTS on both
 * sides.
 *
 * In place, a block is overwritten by the one from its destination. Both
 * nodes then cut in the same order of pairs, [member of the lower node][member
 * of the higher]: a piece that arrives replaces just what left with the piece
 * of the same number. */

typedef struct ctn_geometry {
    const ctn_roster_t *roster;
    uint32_t node;            /* this one */
    uint32_t leaders;         /* L */
    uint64_t cells_per_round; /* F */
    size_t bytes;             /* of a block */
    bool in_place;
    bool drop_data; /* sizes only: nothing is copied */
} ctn_geometry_t;

ctn_geometry_t ctn_geometry(const ctn_plan_t *plan, size_t bytes,
                            bool in_place);

/** Bytes of `piece` between this node and `node`; 0: there is none. */
size_t ctn_piece_bytes(const ctn_geometry_t *g, uint32_t node, uint32_t piece);

/** The first piece at cell `from` or after of virtual leader `leader`; its
 * node is UINT32_MAX at the end. */
ctn_cursor_t ctn_cursor_at(const ctn_geometry_t *g, uint32_t leader,
                           uint64_t from);
static inline bool ctn_cursor_ended(const ctn_cursor_t *cursor)
{
    return cursor->node == UINT32_MAX;
}

/** All cells of a virtual leader. */
uint64_t ctn_cell_count(const ctn_geometry_t *g, uint32_t leader);

/** All pieces of a virtual leader: its cells less those passed over. */
uint64_t ctn_piece_count(const ctn_geometry_t *g, uint32_t leader);

/** The piece at `cell`; node UINT32_MAX when the cell is passed over. */
ctn_cursor_t ctn_cell_piece(const ctn_geometry_t *g, uint32_t leader,
                            uint64_t cell);

/** Copy into staging, from the send buffers of this node's members, what the
 * piece holds; a member whose source is NULL is left out. Returns the bytes
 * copied. */
size_t ctn_piece_gather(const ctn_geometry_t *g, const ctn_cursor_t *piece,
                        const unsigned char *const *source,
                        unsigned char *staging);

/** Copy from staging into the receive buffers of this node's members. */
size_t ctn_piece_scatter(const ctn_geometry_t *g, const ctn_cursor_t *piece,
                         unsigned char *const *target,
                         const unsigned char *staging);

#endif
