#ifndef CTN_COLL_ALLTOALL_LEADERS_FRAGMENT_H
#define CTN_COLL_ALLTOALL_LEADERS_FRAGMENT_H

#include "coll/alltoall/leaders/layout.h"
#include "coll/blocks.h"

/* What travels between two virtual leaders. All blocks from the members of
 * node A to those of node B are one message: a sequence of bytes in the order
 * [member of B][member of A][byte], transposed in the gather, so that what
 * each receiver gets is together. It is cut into pieces of
 * CTN_LEADER_STAGING_BYTES.
 *
 * Nodes meet in rounds, round i pairing node A with node (i - A) mod M. Piece n
 * of round i is virtual leader (i + n) mod L's: the messages of small blocks,
 * of one piece each, are dealt to the leaders in turn, and long ones striped
 * over all of them and their ports. Rounds l, l + L, l + 2L ... are leader l's
 * turns 0, 1, 2 ... Its pieces have an order: first the opening, of each of the
 * first CTN_LEADER_STAGING_SLOTS turns the first piece, or the first few when
 * there are fewer turns; then round by round all others. Both nodes of a pair
 * come to the same round with the same pieces of it in the same order, whatever
 * the lengths of the messages each has with others; which is why nobody waits
 * for somebody who waits for him.
 *
 * The opening goes into the staging slots unasked, turn by turn. All other
 * pieces take the slots in rotation, in the receiver's order, when it grants
 * them.
 *
 * In place, a block is overwritten by the one from its destination. Both
 * nodes then cut in the same order of pairs, [member of the lower node][member
 * of the higher]: a piece that arrives replaces just what left with the piece
 * of the same number. */

typedef struct ctn_geometry {
    const ctn_member_table_t *member_table;
    uint32_t node;    /* this one */
    uint32_t me;      /* this member of it */
    uint32_t leaders; /* L */
    size_t bytes;     /* of each block, or */
    const ctn_leader_block_t *const
        *rows; /* [member]: how long each is; else NULL */
    bool in_place;
    bool drop_data; /* sizes only: nothing is copied */
} ctn_geometry_t;

/** Turns of a virtual leader, the one in which a node meets itself included. */
uint32_t ctn_turns(const ctn_geometry_t *g, uint32_t leader);

/** Pieces of each turn in the opening. */
uint32_t ctn_opening(const ctn_geometry_t *g, uint32_t leader);

/** Staging slot of a piece of the opening. */
static inline uint32_t ctn_opening_slot(const ctn_geometry_t *g,
                                        uint32_t leader,
                                        const ctn_cursor_t *cursor)
{
    return cursor->round / g->leaders * ctn_opening(g, leader) +
           cursor->at.number / g->leaders;
}

/** The first of a leader's pieces, outgoing or incoming. */
ctn_cursor_t ctn_cursor_first(const ctn_geometry_t *g, uint32_t leader,
                              bool outgoing);
/** The piece after. */
void ctn_cursor_next(const ctn_geometry_t *g, uint32_t leader, bool outgoing,
                     ctn_cursor_t *cursor);
static inline bool ctn_cursor_ended(const ctn_cursor_t *cursor)
{
    return cursor->at.bytes == 0;
}

/** Whether a cursor has passed where another, of the same order, stands. */
static inline bool ctn_cursor_passed(const ctn_cursor_t *cursor,
                                     const ctn_cursor_t *at)
{
    if (ctn_cursor_ended(cursor)) {
        return true;
    }
    if (cursor->opening != at->opening) {
        return at->opening;
    }
    return cursor->round > at->round ||
           (cursor->round == at->round && cursor->at.number > at->at.number);
}

/** Pieces of a leader, all in all. */
uint64_t ctn_leader_fragment_count(const ctn_geometry_t *g, uint32_t leader,
                                   bool outgoing);

/** A piece by its number in the message to or from a node; 0 bytes: there is
 * none. */
ctn_leader_fragment_t ctn_leader_fragment_at(const ctn_geometry_t *g,
                                             uint32_t node, uint32_t number,
                                             bool outgoing);

/** One of a node's sides: all its members' send or receive buffers. */
typedef struct ctn_leader_side {
    unsigned char *const *base; /* [member], NULL: out of reach. What rows or
                                   ranks count from */
    const ctn_blocks_t *own; /* this member's, if it is to be dealt with here */
} ctn_leader_side_t;

/** Copy what a piece holds between staging and the members' buffers: outgoing
 * into staging, incoming out of it. Members out of reach are left out.
 * @return the bytes copied */
size_t ctn_leader_fragment_copy(ctn_exec_t *exec, const ctn_geometry_t *g,
                                const ctn_leader_fragment_t *fragment,
                                bool outgoing, const ctn_leader_side_t *side,
                                unsigned char *staging);

#endif
