#ifndef CTN_COLL_ALLTOALL_LEADERS_LAYOUT_H
#define CTN_COLL_ALLTOALL_LEADERS_LAYOUT_H

#include "topo/topo.h"

/* Who leads. A plan has L virtual leaders on every node, the same L
 * everywhere; virtual leader l is hosted by member l mod min(L, members) of
 * the node's leader list, so nodes of any size work together. Each virtual
 * leader has a port: staging for what it sends and receives, which its peers
 * on other nodes write into. Made once per group, number of leaders and
 * placement, and kept. */

#define CTN_MAX_LEADERS 64u

/* The header of a piece lies before it. */
#define CTN_LEADER_STAGING_STRIDE (CTN_LEADER_STAGING_BYTES + 64u)

/** What comes with each piece, right before its data: what message it is of. */
typedef struct ctn_fragment_header {
    uint64_t bytes;  /* of the message */
    uint64_t digest; /* of the lengths of its blocks */
} ctn_fragment_header_t;

typedef enum ctn_placement {
    CTN_PLACEMENT_FIRST, /* the node's first members ([Peng], Algorithm 2) */
    CTN_PLACEMENT_SPREAD /* over its NUMA domains ([Peng], Algorithm 4) */
} ctn_placement_t;

/** What a member says of the blocks it exchanges with one rank, when they are
 * not all alike; a row of these for each rank. Its leaders read them. */
typedef struct ctn_leader_block {
    size_t send_bytes; /* 0: nothing that leaders are to carry */
    size_t receive_bytes;
    uint64_t send_at; /* in the member's arena, when its buffers lie there */
    uint64_t receive_at;
} ctn_leader_block_t;

/** The part of a port in its host's heap; offsets by the functions below. */
typedef struct ctn_port_block {
    /* which piece is in the slot, see ctn_leaders_arrival */
    uint64_t arrived[CTN_GENERATIONS][CTN_LEADER_STAGING_SLOTS];
    /* then [ring][node]: which pieces that node's leader lets this one send */
    uint64_t cts[];
} ctn_port_block_t;

/** What a virtual leader and the members of its node tell each other about
 * buffers outside the heap; in the heap of the node's root, one for each ring
 * and virtual leader. The counts are tags of the operation. */
typedef struct ctn_counter {
    uint64_t opened;    /* pieces open for their senders to fill in */
    uint64_t delivered; /* pieces arrived, for their receivers to take */
    uint64_t mismatch;  /* a message had other lengths: the operation fails */
    uint64_t unused[5];
    /* which the last delivered are: node, number and staging slot */
    uint64_t fragment[CTN_LEADER_STAGING_SLOTS];
} ctn_counter_t;

/** A member's answer; one for each ring, member and virtual leader. */
typedef struct ctn_answer {
    uint64_t pushed; /* opened pieces it has filled its part in */
    uint64_t taken;  /* delivered pieces it has taken its part of */
} ctn_answer_t;

/** A piece of a message to or from a node; see fragment.h. */
typedef struct ctn_leader_fragment {
    uint32_t node;
    uint32_t number;
    size_t bytes; /* 0: there is none */
} ctn_leader_fragment_t;

/** Position in the order of a virtual leader's pieces. */
typedef struct ctn_cursor {
    ctn_leader_fragment_t at;
    uint32_t round;
    bool opening;
    ctn_fragment_header_t of; /* the round's message */
} ctn_cursor_t;

/** A piece that is scattered as it comes. */
typedef struct ctn_leader_posted {
    ctn_op_t *op;
    struct ctn_port *port;
    uint64_t slot;
} ctn_leader_posted_t;

/** One operation's work at one hosted virtual leader. Outgoing pieces are
 * counted in their order and staged in rotation. Incoming ones have places:
 * those of the opening are their turns, then they go on counting; place v is in
 * slot v mod CTN_LEADER_STAGING_SLOTS. */
typedef struct ctn_port_run {
    ctn_cursor_t gather;                        /* next to be gathered */
    ctn_cursor_t out[CTN_LEADER_STAGING_SLOTS]; /* gathered and not yet sent */
    uint64_t opened;                            /* pieces gathered */
    uint64_t sent;                              /* pieces sent */
    ctn_cursor_t assign;                        /* next to be given a place */
    uint64_t base;      /* places below have been scattered */
    uint64_t ahead;     /* places below have been given */
    uint64_t drain_end; /* without overlap: places that may be scattered */
    uint32_t scattered; /* bit v: the piece in slot v has been */
    uint32_t notified;  /* bit v: its receivers have been told */
    uint32_t received;  /* bit v: it never was there */
    ctn_leader_posted_t posted[CTN_LEADER_STAGING_SLOTS];
    uint64_t delivered;
    ctn_cursor_t
        in[CTN_LEADER_STAGING_SLOTS]; /* what has its place in the slot */
    uint64_t entry[CTN_LEADER_STAGING_SLOTS]; /* delivery number of the slot */
    uint64_t pending[CTN_LEADER_STAGING_SLOTS]; /* send slots the network still
                                                   has */
    bool done;
} ctn_port_run_t;

typedef struct ctn_port {
    uint32_t leader; /* which virtual leader this rank hosts here */
    uint64_t offset; /* of the block in this arena */
    ctn_port_block_t *block;
    ctn_port_run_t run[CTN_FLIGHT];
} ctn_port_t;

/** How far this member is with a virtual leader that it gives or takes parts
 * of pieces. */
typedef struct ctn_service {
    ctn_cursor_t push; /* the next piece to be opened */
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
    ctn_port_t *port; /* hosted here */
    /* In the heap of the node's root. */
    const ctn_address_t *address; /* [node][leader]: process, port block */
    ctn_counter_t *counter;       /* [ring][leader] */
    ctn_answer_t *answer;         /* [ring][member][leader] */
    void *shared;                 /* all of it, at the root; else NULL */
    /* In this member's heap, made when first needed: what it says of its
     * blocks, [ring][rank]. Others may read it until the ring is used again. */
    ctn_leader_block_t *own_rows;
    /* Working memory of the operations under way. */
    ctn_service_t *service[CTN_FLIGHT]; /* [leaders] */
    /* [member]: where its buffers count from, NULL when out of reach */
    unsigned char **source[CTN_FLIGHT];
    unsigned char **target[CTN_FLIGHT];
    const ctn_leader_block_t **rows[CTN_FLIGHT];
    unsigned char **unreachable; /* [member]: all out of reach */
} ctn_leader_layout_t;

/** A phase's way to have a plan: as ctn_topo_need. The roster is built. */
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

/** Staging of what arrives, by ring and slot. */
static inline size_t ctn_port_receive_at(uint32_t nodes, uint64_t generation,
                                         uint64_t slot)
{
    return ctn_port_staging_start(nodes) +
           (generation * CTN_LEADER_STAGING_SLOTS + slot + 1) *
               CTN_LEADER_STAGING_STRIDE -
           CTN_LEADER_STAGING_BYTES;
}

/** Staging of what is sent, by operation under way and slot. */
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
