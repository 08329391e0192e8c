#ifndef CTN_COLL_ALLTOALL_LEADERS_LAYOUT_H
#define CTN_COLL_ALLTOALL_LEADERS_LAYOUT_H

#include "topo/topo.h"

/* The leaders of each node. A layout has L virtual leaders on every node, with
 * the same L everywhere; member l mod min(L, members) of the node's list of
 * leaders acts as virtual leader l, so nodes of any size work together. Each
 * virtual leader has a port: staging for what it sends and receives, to which
 * its peers on other nodes write. A layout is built once for each group, number
 * of leaders and placement, and kept. */

#define CTN_MAX_LEADERS 64u

/* A fragment is preceded by its header. */
#define CTN_LEADER_STAGING_STRIDE (CTN_LEADER_STAGING_BYTES + 64u)

/** Precedes the data of each fragment; describes its message. */
typedef struct ctn_fragment_header {
    uint64_t bytes;  /* of the message */
    uint64_t digest; /* of the lengths of its blocks */
} ctn_fragment_header_t;

typedef enum ctn_placement {
    CTN_PLACEMENT_FIRST, /* the node's first members ([Peng], Algorithm 2) */
    CTN_PLACEMENT_SPREAD /* over its NUMA domains ([Peng], Algorithm 4) */
} ctn_placement_t;

/** A member's description of the blocks that it exchanges with one rank, when
 * lengths vary. It publishes a row with one for each rank, which its leaders
 * read. */
typedef struct ctn_leader_block {
    size_t send_bytes; /* 0: nothing that leaders send */
    size_t receive_bytes;
    uint64_t send_at; /* in the member's arena, if its buffers are there */
    uint64_t receive_at;
} ctn_leader_block_t;

/** The part of a port in its leader's heap; offsets by the functions below. */
typedef struct ctn_port_block {
    /* the fragment in the slot, see ctn_leaders_arrival */
    uint64_t arrived[CTN_GENERATIONS][CTN_LEADER_STAGING_SLOTS];
    /* then [generation][node]: the CTS of that node's leader */
    uint64_t cts[];
} ctn_port_block_t;

/** Shared by a virtual leader and the members of its node whose buffers are
 * outside the heap; in the heap of the node's root, one for each generation and
 * virtual leader. The counts carry the number of the operation. */
typedef struct ctn_counter {
    uint64_t opened;    /* fragments open for the members to fill */
    uint64_t delivered; /* fragments received, ready for the members to copy */
    uint64_t mismatch;  /* a message had other lengths: the operation fails */
    uint64_t unused[5];
    /* the last delivered: node, number and staging slot */
    uint64_t fragment[CTN_LEADER_STAGING_SLOTS];
} ctn_counter_t;

/** A member's progress; one for each generation, member and virtual leader. */
typedef struct ctn_answer {
    uint64_t pushed; /* opened fragments that it has filled */
    uint64_t taken;  /* delivered fragments that it has copied from */
} ctn_answer_t;

/** A fragment of a message to or from a node; see fragment.h. */
typedef struct ctn_leader_fragment {
    uint32_t node;
    uint32_t number;
    size_t bytes; /* 0: it does not exist */
} ctn_leader_fragment_t;

/** Position in the order of a virtual leader's fragments. */
typedef struct ctn_cursor {
    ctn_leader_fragment_t at;
    uint32_t round;
    bool opening;
    ctn_fragment_header_t of; /* the round's message */
} ctn_cursor_t;

/** A posted fragment, which is scattered on arrival. */
typedef struct ctn_leader_posted {
    ctn_op_t *op;
    struct ctn_port *port;
    uint64_t slot;
} ctn_leader_posted_t;

/** State of one operation at one virtual leader of this member. Outgoing
 * fragments are counted in their order and staged in rotation. Incoming
 * fragments have places: the fragments of the opening come first, then the
 * count continues; place v uses slot v mod CTN_LEADER_STAGING_SLOTS. */
typedef struct ctn_port_run {
    ctn_cursor_t gather;                        /* next to be gathered */
    ctn_cursor_t out[CTN_LEADER_STAGING_SLOTS]; /* gathered and not yet sent */
    uint64_t opened;                            /* fragments gathered */
    uint64_t sent;                              /* fragments sent */
    ctn_cursor_t assign; /* next to be assigned a place */
    uint64_t base;       /* places below have been scattered */
    uint64_t ahead;      /* places below have been assigned */
    uint64_t drain_end;  /* without overlap: places that may be scattered */
    uint32_t scattered;  /* bit v: the fragment in slot v has been */
    uint32_t notified;   /* bit v: its receivers have been notified */
    uint32_t received;   /* bit v: it was posted and needed no staging */
    ctn_leader_posted_t posted[CTN_LEADER_STAGING_SLOTS];
    uint64_t delivered;
    ctn_cursor_t
        in[CTN_LEADER_STAGING_SLOTS]; /* the fragment that has the slot */
    uint64_t entry[CTN_LEADER_STAGING_SLOTS]; /* delivery number of the slot */
    uint64_t pending[CTN_LEADER_STAGING_SLOTS]; /* send slots that the network
                                                   still holds */
    bool done;
} ctn_port_run_t;

typedef struct ctn_port {
    uint32_t leader; /* virtual leader of this port */
    uint64_t offset; /* of the block in this arena */
    ctn_port_block_t *block;
    ctn_port_run_t run[CTN_FLIGHT];
} ctn_port_t;

/** Progress of this member with a virtual leader for which it fills, or from
 * which it copies, its share of the fragments. */
typedef struct ctn_service {
    ctn_cursor_t push; /* the next fragment to be opened */
    uint64_t pushed;
    uint64_t to_push;
    uint64_t taken;
    uint64_t to_take;
} ctn_service_t;

typedef struct ctn_leader_layout {
    ctn_attachment_t attachment;
    ctn_topo_t *topo;
    uint32_t leaders;
    ctn_placement_t placement;
    enum {
        CTN_LEADER_LAYOUT_NEW,
        CTN_LEADER_LAYOUT_BUILDING,
        CTN_LEADER_LAYOUT_READY
    } state;
    uint32_t *leader_member;          /* [leaders]: member of this node */
    ctn_endpoint_t **leader_endpoint; /* [leaders] */
    uint32_t ports;
    ctn_port_t *port; /* [ports], of this member */
    /* In the heap of the node's root. */
    const ctn_address_t *address; /* [node][leader]: process, port block */
    ctn_counter_t *counter;       /* [generation][leader] */
    ctn_answer_t *answer;         /* [generation][member][leader] */
    void *shared; /* all of this memory, at the root; else NULL */
    /* In this member's heap, allocated on first use: its blocks,
     * [generation][rank]. Others may read them until the generation is reused.
     */
    ctn_leader_block_t *own_blocks;
    /* Working memory of the operations in progress. */
    ctn_service_t *service[CTN_FLIGHT]; /* [leaders] */
    /* [member]: base address of its buffers, NULL when out of reach */
    unsigned char **source[CTN_FLIGHT];
    unsigned char **target[CTN_FLIGHT];
    const ctn_leader_block_t **rows[CTN_FLIGHT];
    unsigned char **unreachable; /* [member]: NULL */
} ctn_leader_layout_t;

/** Get a layout in a phase, like ctn_topo_need. The member table must be built.
 */
ctn_step_t ctn_leader_layout_need(ctn_op_t *op, ctn_topo_t *topo,
                                  uint32_t leaders, ctn_placement_t placement,
                                  ctn_leader_layout_t **layout);

/** The i-th leader of a node of n members, of `count` leaders.
 * @param domains NUMA domain of each member, or NULL when not all have one */
uint32_t ctn_leader_layout_member(const int32_t *domains, uint32_t n,
                                  uint32_t count, ctn_placement_t placement,
                                  uint32_t i);

/* Offsets within a port block. */

static inline size_t ctn_port_staging_start(uint32_t nodes)
{
    size_t words = sizeof(ctn_port_block_t) +
                   (size_t)CTN_GENERATIONS * nodes * sizeof(uint64_t);
    return (words + 4095) & ~(size_t)4095;
}

/** Receive staging, by generation and slot. */
static inline size_t ctn_port_receive_at(uint32_t nodes, uint64_t generation,
                                         uint64_t slot)
{
    return ctn_port_staging_start(nodes) +
           (generation * CTN_LEADER_STAGING_SLOTS + slot + 1) *
               CTN_LEADER_STAGING_STRIDE -
           CTN_LEADER_STAGING_BYTES;
}

/** Send staging, by operation in progress and slot. */
static inline size_t ctn_port_send_at(uint32_t nodes, uint64_t set,
                                      uint64_t slot)
{
    return ctn_port_receive_at(nodes, CTN_GENERATIONS, 0) +
           (set * CTN_LEADER_STAGING_SLOTS + slot) * CTN_LEADER_STAGING_STRIDE;
}

static inline size_t ctn_port_bytes(uint32_t nodes)
{
    return ctn_port_send_at(nodes, CTN_FLIGHT, 0);
}

static inline size_t ctn_port_cts_at(uint32_t nodes, uint64_t generation,
                                     uint32_t node)
{
    return offsetof(ctn_port_block_t, cts) +
           (generation * nodes + node) * sizeof(uint64_t);
}

#endif
