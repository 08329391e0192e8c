#ifndef CTN_COLL_ALLTOALL_LEADERS_FRAGMENT_H
#define CTN_COLL_ALLTOALL_LEADERS_FRAGMENT_H

#include "coll/alltoall/leaders/layout.h"
#include "coll/blocks.h"

/* Messages between virtual leaders. All blocks from the members of node A to
 * those of node B are one message: a sequence of bytes in the order [member of
 * B][member of A][byte], transposed in the gather, so that the data of each
 * receiver are contiguous. It is cut into fragments of
 * CTN_LEADER_STAGING_BYTES.
 *
 * In round i of M, the number of nodes, node A exchanges with node (i - A) mod
 * M. Fragment n of round i
 * belongs to virtual leader (i + n) mod L: messages of small blocks, which have
 * one fragment each, are distributed over the leaders, and long messages are
 * striped over all leaders and their ports. Rounds l, l + L, l + 2L ... are
 * own rounds 0, 1, 2 ... of leader l. Its fragments have an order: first the
 * opening, which has the first fragment of each of the first
 * CTN_LEADER_STAGING_SLOTS own rounds or, if there are fewer own rounds, the
 * first few fragments of each; then all others, round by round. Both nodes of a
 * pair reach the same round with the same fragments in the same order, whatever
 * the lengths of their messages with other nodes; so there is no cyclic wait.
 *
 * The fragments of the opening are sent without a CTS and use the staging slots
 * own round by own round. All others use the slots in rotation, in the
 * receiver's order, after its CTS.
 *
 * In place, a block is overwritten by the one from its destination. Both nodes
 * then order the pairs in the same way, [member of the lower node][member of
 * the higher]: an incoming fragment replaces exactly what the outgoing fragment
 * of the same number contained. */

/** What determines the fragments of a node's leaders. Parameter g below. */
typedef struct ctn_geometry {
    const ctn_member_table_t *member_table;
    uint32_t node;    /* this one */
    uint32_t me;      /* this member on it */
    uint32_t leaders; /* L */
    size_t bytes;     /* of each block, unless `vector` */
    bool vector;      /* the lengths of blocks differ: the members have rows */
    bool in_place;
    bool staged[2]; /* [outgoing]: the buffer of some other member of the node
                       is out of reach */
    const ctn_leader_member_t *member; /* [members of this node] */
    const ctn_blocks_t *own[2]; /* [outgoing]: this member's blocks: it copies
                                   these itself if they are out of reach */
} ctn_geometry_t;

/** Own rounds of a virtual leader, including the one in which a node would
 * exchange with itself. */
uint32_t ctn_own_rounds(const ctn_geometry_t *g, uint32_t leader);

/** Fragments of each own round in the opening. */
uint32_t ctn_opening(const ctn_geometry_t *g, uint32_t leader);

/** Staging slot of a fragment of the opening. */
static inline uint32_t ctn_opening_slot(const ctn_geometry_t *g,
                                        uint32_t leader,
                                        const ctn_cursor_t *cursor)
{
    return cursor->round / g->leaders * ctn_opening(g, leader) +
           cursor->at.number / g->leaders;
}

/** The first of a leader's fragments, outgoing or incoming. */
ctn_cursor_t ctn_cursor_first(const ctn_geometry_t *g, uint32_t leader,
                              bool outgoing);
/** Advance to the next fragment. */
void ctn_cursor_next(const ctn_geometry_t *g, uint32_t leader, bool outgoing,
                     ctn_cursor_t *cursor);
/** Whether there are no more fragments. */
static inline bool ctn_cursor_ended(const ctn_cursor_t *cursor)
{
    return cursor->at.bytes == 0;
}

/** Whether `cursor` has passed the position of `at` in the same order. */
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

/** A fragment by its number in the message to or from a node; 0 bytes: it does
 * not exist. */
ctn_leader_fragment_t ctn_leader_fragment_at(const ctn_geometry_t *g,
                                             uint32_t node, uint32_t number,
                                             bool outgoing);

/** Copy a fragment between staging and the members' buffers: outgoing into
 * staging, incoming out of it. Other members out of reach are skipped.
 * @param leads copy for all members within reach; else this member's blocks
 *              only, which are out of reach
 * @return the bytes copied from or to buffers within reach */
size_t ctn_leader_fragment_copy(ctn_exec_t *exec, const ctn_geometry_t *g,
                                const ctn_leader_fragment_t *fragment,
                                bool outgoing, bool leads,
                                unsigned char *staging);

#endif
