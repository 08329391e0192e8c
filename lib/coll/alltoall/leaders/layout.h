#ifndef CTN_COLL_ALLTOALL_LEADERS_LAYOUT_H
#define CTN_COLL_ALLTOALL_LEADERS_LAYOUT_H

#include "core/tiny.h"
#include "topo/topo.h"

/** Staging slots of a leader port for each direction, and their length. */
#define CTN_LEADER_STAGING_SLOTS CTN_PICK(8u, 4u)
#define CTN_LEADER_STAGING_BYTES CTN_PICK(65536u, 4096u)

/* The leaders of each node. A layout has L virtual leaders on every node, with
 * the same L everywhere. Virtual leader l is hosted by entry l mod min(L, n) of
 * the list of leaders of a node with n members, so nodes of any size work
 * together. Each virtual leader has a port: staging slots for what it sends,
 * and others for what it receives, to which the same virtual leader of other
 * nodes writes. A layout is built once for each group, number of leaders and
 * placement, and kept. */

#define CTN_MAX_LEADERS 64u /* on each node */

/* In a staging slot the header precedes the data of the fragment, at the end of
 * a cache line of its own. */
#define CTN_LEADER_STAGING_STRIDE (CTN_LEADER_STAGING_BYTES + 64u)

/** The header of a fragment; describes its message. */
typedef struct ctn_fragment_header {
    uint64_t bytes;  /* of the message */
    uint64_t digest; /* of the lengths of its blocks */
} ctn_fragment_header_t;

/** Which members of a node are its leaders. */
typedef enum ctn_placement {
    CTN_PLACEMENT_FIRST, /* the node's first members ([Peng], Algorithm 2) */
    CTN_PLACEMENT_SPREAD /* over its NUMA domains; if some member has none, at
                            equal distances ([Peng], Algorithm 4) */
} ctn_placement_t;

/** alltoallv and alltoallw: the two blocks that a member exchanges with one
 * rank. The member publishes its row, an array with an entry for each rank,
 * which its leaders read. */
typedef struct ctn_leader_block {
    size_t send_bytes; /* 0: nothing that leaders send */
    size_t receive_bytes;
    uint64_t send_at; /* offset in the member's arena, or CTN_STAGED */
    uint64_t receive_at;
} ctn_leader_block_t;

/** The memory of a port, in the arena of its leader; the functions below
 * compute the offsets. The staging slots follow these words. */
typedef struct ctn_port_block {
    /* which fragment is in the slot, see ctn_leaders_arrival */
    uint64_t arrived[CTN_GENERATIONS][CTN_LEADER_STAGING_SLOTS];
    /* then [generation][node]: the CTS of that node's leader */
    uint64_t cts[];
} ctn_port_block_t;

/** Written by a virtual leader, and read by the members of its node whose
 * buffers are out of its reach: outside the heap, or not contiguous. One for
 * each generation, virtual leader and direction, in the arena of the node
 * leader. */
typedef struct ctn_counter {
    uint64_t ready;    /* sequence flag: outgoing fragments open for the members
                          to fill; incoming ones for them to copy from */
    uint64_t mismatch; /* incoming: a message had other lengths, so the
                          operation fails */
    uint64_t unused[6];
    /* the last ones that are ready, in rotation: node, number, staging slot */
    uint64_t fragment[CTN_LEADER_STAGING_SLOTS];
} ctn_counter_t;

/** A fragment of a message to or from a node; see fragment.h. */
typedef struct ctn_leader_fragment {
    uint32_t node;   /* the other one */
    uint32_t number; /* in the message */
    size_t bytes;    /* 0: it does not exist */
} ctn_leader_fragment_t;

/** Position in the order of a virtual leader's fragments; see fragment.h. */
typedef struct ctn_cursor {
    ctn_leader_fragment_t at; /* the fragment there */
    uint32_t round;
    bool opening;             /* the position is in the opening */
    ctn_fragment_header_t of; /* the round's message */
} ctn_cursor_t;

/** The fragment that has a receive slot. */
typedef struct ctn_leader_incoming {
    enum {
        CTN_FRAGMENT_NONE, /* the slot is free, or has been scattered */
        CTN_FRAGMENT_AWAITED,
        CTN_FRAGMENT_SCATTERED, /* by a posted receive */
        CTN_FRAGMENT_READY /* the leader has scattered it, the members copy */
    } state;
    ctn_cursor_t at;
    uint64_t number; /* of the fragments that became ready before it */
    struct {         /* for a posted receive */
        ctn_op_t *op;
        struct ctn_port *port;
        uint64_t slot;
    } posted;
} ctn_leader_incoming_t;

/** State of one operation at one virtual leader that this member hosts.
 * Outgoing fragments are numbered in their order; number i is staged in send
 * slot i mod CTN_LEADER_STAGING_SLOTS. Incoming fragments are numbered by
 * places: the opening has the first places, the fragments after it the
 * following ones; place v uses receive slot v mod CTN_LEADER_STAGING_SLOTS. */
typedef struct ctn_port_run {
    ctn_cursor_t gather;                        /* next to be gathered */
    ctn_cursor_t out[CTN_LEADER_STAGING_SLOTS]; /* gathered and not yet sent */
    uint64_t opened;                            /* fragments gathered */
    uint64_t sent;                              /* fragments sent */
    uint64_t pending[CTN_LEADER_STAGING_SLOTS]; /* not 0: the network still
                                                   reads the send slot */
    ctn_leader_incoming_t in[CTN_LEADER_STAGING_SLOTS];
    ctn_cursor_t assign; /* next to be assigned a place */
    uint64_t base;       /* places below have been scattered */
    uint64_t ahead;      /* places below have been assigned */
    uint64_t drain_end;  /* without overlap: places below may be scattered */
    uint64_t drain_sent; /* fragments sent when that was decided */
    uint64_t ready;      /* incoming fragments that became ready */
    bool done;           /* nothing is left to send, to receive or to scatter */
} ctn_port_run_t;

/** A port of this member. */
typedef struct ctn_port {
    uint32_t leader; /* virtual leader of this port */
    ctn_port_block_t *block;
    ctn_port_run_t run[CTN_FLIGHT]; /* of operation seq: [seq % CTN_FLIGHT] */
} ctn_port_t;

/** A member of this node, as its leaders see it in an operation. */
typedef struct ctn_leader_member {
    unsigned char *base[2]; /* [outgoing]: the address that the places of its
                               blocks count from; NULL: out of reach */
    const ctn_leader_block_t *row; /* if its blocks have different lengths */
} ctn_leader_member_t;

/** A leader layout, as a member of the group keeps it. */
typedef struct ctn_leader_layout {
    ctn_attachment_t attachment;
    ctn_topo_t *topo;
    uint32_t leaders; /* L */
    ctn_placement_t placement;
    ctn_built_t state;
    uint32_t *leader_member;    /* [leaders]: its host on this node */
    uint32_t ports;             /* virtual leaders that this member hosts */
    ctn_port_t *port;           /* [ports] */
    unsigned char *port_blocks; /* [ports]: their memory, one after the other */
    /* In the arena of the node leader. */
    const ctn_address_t *address; /* [node][leader]: process, port block */
    ctn_counter_t *counter;       /* [generation][leader][outgoing] */
    /* [generation][member][leader][outgoing]: sequence flags, written by
     * members with buffers out of reach: fragments of which they have copied
     * their share */
    uint64_t *copied;
    void *shared; /* all of this memory, at the node leader; else NULL */
    /* In this member's arena, allocated on first use: its rows,
     * [generation][rank]. Others may read them until the generation is reused.
     */
    ctn_leader_block_t *own_blocks;
    /* Of the operations in progress: [seq % CTN_FLIGHT][member of this node] */
    ctn_leader_member_t *member;
    /* [seq % CTN_FLIGHT][leader][outgoing]: fragments of which this member has
     * copied its share */
    uint64_t *served;
} ctn_leader_layout_t;

/** From within a phase: get a layout, and build it first if there is none. Like
 * ctn_topo_need. The member table must be built. */
ctn_step_t ctn_leader_layout_need(ctn_op_t *op, ctn_topo_t *topo,
                                  uint32_t leaders, ctn_placement_t placement,
                                  ctn_leader_layout_t **layout);

/** Return entry i of the list of leaders of a node: a local rank.
 * @param domains NUMA domain of each member, or NULL when not all have one
 * @param n       members of the node
 * @param count   leaders in the list */
uint32_t ctn_leader_layout_member(const int32_t *domains, uint32_t n,
                                  uint32_t count, ctn_placement_t placement,
                                  uint32_t i);

/* Offsets within a port block. */

/** The first staging slot. */
static inline size_t ctn_port_staging_start(uint32_t nodes)
{
    size_t words = sizeof(ctn_port_block_t) +
                   (size_t)CTN_GENERATIONS * nodes * sizeof(uint64_t);
    return (words + 4095) & ~(size_t)4095;
}

/** The data in a staging slot of operation `seq`: receive slots are reused by
 * generation, send slots by every CTN_FLIGHT-th operation. */
static inline size_t ctn_port_staging_at(uint32_t nodes, uint64_t seq,
                                         bool outgoing, uint64_t slot)
{
    uint64_t set =
        outgoing ? CTN_GENERATIONS + seq % CTN_FLIGHT : seq % CTN_GENERATIONS;
    return ctn_port_staging_start(nodes) +
           (set * CTN_LEADER_STAGING_SLOTS + slot + 1) *
               CTN_LEADER_STAGING_STRIDE -
           CTN_LEADER_STAGING_BYTES;
}

/** The end of the port block. */
static inline size_t ctn_port_bytes(uint32_t nodes)
{
    return ctn_port_staging_start(nodes) + (CTN_GENERATIONS + CTN_FLIGHT) *
                                               CTN_LEADER_STAGING_SLOTS *
                                               CTN_LEADER_STAGING_STRIDE;
}

/** The CTS of a node in a generation. */
static inline size_t ctn_port_cts_at(uint32_t nodes, uint64_t generation,
                                     uint32_t node)
{
    return offsetof(ctn_port_block_t, cts) +
           (generation * nodes + node) * sizeof(uint64_t);
}

#endif
