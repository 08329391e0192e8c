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
 * each generation and virtual leader, in the arena of the node leader. `opened`
 * and `delivered` are sequence flags. */
typedef struct ctn_counter {
    uint64_t opened;    /* fragments open for the members to fill */
    uint64_t delivered; /* fragments received, ready for the members to copy */
    uint64_t mismatch;  /* a message had other lengths: the operation fails */
    uint64_t unused[5];
    /* the last ones delivered, in rotation: node, number and staging slot */
    uint64_t fragment[CTN_LEADER_STAGING_SLOTS];
} ctn_counter_t;

/** Written by such a member: its progress. One for each generation, member and
 * virtual leader. Both words are sequence flags. */
typedef struct ctn_answer {
    uint64_t pushed; /* opened fragments that it has filled */
    uint64_t taken;  /* delivered fragments that it has copied from */
} ctn_answer_t;

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

/** A fragment with a posted receive, which scatters it on arrival. */
typedef struct ctn_leader_posted {
    ctn_op_t *op;
    struct ctn_port *port;
    uint64_t slot;
} ctn_leader_posted_t;

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
    ctn_cursor_t assign; /* next to be assigned a place */
    uint64_t base;       /* places below have been scattered */
    uint64_t ahead;      /* places below have been assigned */
    uint64_t drain_end;  /* without overlap: places below may be scattered */
    uint32_t scattered;  /* bit i: the fragment of slot i has been scattered */
    uint32_t notified;   /* bit i: the members have been notified of it */
    uint32_t received;   /* bit i: a posted receive has scattered it */
    ctn_leader_posted_t posted[CTN_LEADER_STAGING_SLOTS];
    uint64_t delivered; /* fragments of which the members were notified */
    ctn_cursor_t
        in[CTN_LEADER_STAGING_SLOTS]; /* the fragment that has the slot */
    uint64_t entry[CTN_LEADER_STAGING_SLOTS];   /* number delivered before the
                                                   fragment in the slot */
    uint64_t pending[CTN_LEADER_STAGING_SLOTS]; /* not 0: the network still
                                                   reads the send slot */
    bool done; /* nothing is left to send, to receive or to scatter */
} ctn_port_run_t;

/** A port of this member. */
typedef struct ctn_port {
    uint32_t leader; /* virtual leader of this port */
    uint64_t offset; /* of `block` in this arena */
    ctn_port_block_t *block;
    ctn_port_run_t run[CTN_FLIGHT]; /* of operation seq: [seq % CTN_FLIGHT] */
} ctn_port_t;

/** Progress of this member with a virtual leader for which it fills, or from
 * which it copies, its share of the fragments. */
typedef struct ctn_service {
    ctn_cursor_t push; /* the next fragment to fill */
    uint64_t pushed;   /* fragments filled */
    uint64_t to_push;  /* fragments to fill in all */
    uint64_t taken;    /* fragments copied from */
    uint64_t to_take;  /* fragments to copy from in all */
} ctn_service_t;

/** A leader layout, as a member of the group keeps it. */
typedef struct ctn_leader_layout {
    ctn_attachment_t attachment;
    ctn_topo_t *topo;
    uint32_t leaders; /* L */
    ctn_placement_t placement;
    ctn_built_t state;
    uint32_t *leader_member;          /* [leaders]: its host on this node */
    ctn_endpoint_t **leader_endpoint; /* [leaders]: to the host */
    uint32_t ports;   /* virtual leaders that this member hosts */
    ctn_port_t *port; /* [ports] */
    /* In the arena of the node leader. */
    const ctn_address_t *address; /* [node][leader]: process, port block */
    ctn_counter_t *counter;       /* [generation][leader] */
    ctn_answer_t *answer;         /* [generation][member][leader] */
    void *shared; /* all of this memory, at the node leader; else NULL */
    /* In this member's arena, allocated on first use: its rows,
     * [generation][rank]. Others may read them until the generation is reused.
     */
    ctn_leader_block_t *own_blocks;
    /* Working memory of the operations in progress: [seq % CTN_FLIGHT]. */
    ctn_service_t *service[CTN_FLIGHT]; /* [leaders] */
    /* [member of this node]: base address of its send and of its receive
     * buffer, NULL if out of reach; its row */
    unsigned char **source[CTN_FLIGHT];
    unsigned char **target[CTN_FLIGHT];
    const ctn_leader_block_t **rows[CTN_FLIGHT];
    unsigned char **unreachable; /* [member of this node]: NULL, in place of
                                    source or target */
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

/** The data in a receive slot of a generation. */
static inline size_t ctn_port_receive_at(uint32_t nodes, uint64_t generation,
                                         uint64_t slot)
{
    return ctn_port_staging_start(nodes) +
           (generation * CTN_LEADER_STAGING_SLOTS + slot + 1) *
               CTN_LEADER_STAGING_STRIDE -
           CTN_LEADER_STAGING_BYTES;
}

/** The data in a send slot of an operation; `set` is seq % CTN_FLIGHT. */
static inline size_t ctn_port_send_at(uint32_t nodes, uint64_t set,
                                      uint64_t slot)
{
    return ctn_port_receive_at(nodes, CTN_GENERATIONS, 0) +
           (set * CTN_LEADER_STAGING_SLOTS + slot) * CTN_LEADER_STAGING_STRIDE;
}

/** The end of the port block. */
static inline size_t ctn_port_bytes(uint32_t nodes)
{
    return ctn_port_send_at(nodes, CTN_FLIGHT, 0);
}

/** The CTS of a node in a generation. */
static inline size_t ctn_port_cts_at(uint32_t nodes, uint64_t generation,
                                     uint32_t node)
{
    return offsetof(ctn_port_block_t, cts) +
           (generation * nodes + node) * sizeof(uint64_t);
}

#endif
