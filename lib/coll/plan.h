#ifndef CTN_COLL_PLAN_H
#define CTN_COLL_PLAN_H

#include "topo/topo.h"

/* Who leads. A plan has L virtual leaders on every node, the same L
 * everywhere; virtual leader l is hosted by member l mod min(L, members) of
 * the node's leader list, so nodes of any size work together. Each virtual
 * leader has a port: staging for what it sends and receives, which its peers
 * on other nodes write into. Made once per group, number of leaders and
 * placement, and kept. */

#define CTN_MAX_LEADERS 64u

#define CTN_STAGE_SLOTS 8u     /* pieces under way to one virtual leader */
#define CTN_STAGE_BYTES 65536u /* of a piece */

typedef enum ctn_placement {
    CTN_PLACE_FIRST, /* the node's first members ([Peng], Algorithm 2) */
    CTN_PLACE_SPREAD /* over its NUMA domains ([Peng], Algorithm 4) */
} ctn_placement_t;

/** The part of a port in its host's heap; offsets by the functions below. */
typedef struct ctn_port_block {
    uint64_t arrived[CTN_RINGS][CTN_STAGE_SLOTS];
    /* then [ring][node]: pieces that the node's leader lets this one send */
    uint64_t granted[];
} ctn_port_block_t;

/** What a virtual leader and the members of its node tell each other about
 * buffers outside the heap; in the heap of the node's root, one for each ring
 * and virtual leader. The counts are tags of the operation. */
typedef struct ctn_counter {
    uint64_t opened;    /* pieces open for their senders to fill in */
    uint64_t delivered; /* pieces arrived, for their receivers to take */
    uint64_t unused[6];
    uint64_t cell[CTN_STAGE_SLOTS]; /* which the last delivered are */
} ctn_counter_t;

/** A member's answer; one for each ring, member and virtual leader. */
typedef struct ctn_answer {
    uint64_t pushed; /* opened pieces it has filled its part in */
    uint64_t taken;  /* delivered pieces it has taken its part of */
} ctn_answer_t;

/** Position in a virtual leader's sequence of pieces; see piece.h. */
typedef struct ctn_cursor {
    uint64_t cell;
    uint32_t node;
    uint32_t piece;
} ctn_cursor_t;

/** One operation's work at one hosted virtual leader. */
typedef struct ctn_port_run {
    ctn_cursor_t gather; /* next to be gathered */
    ctn_cursor_t send;   /* next to be sent */
    uint64_t opened;     /* pieces gathered */
    uint64_t sent;       /* pieces sent */
    uint64_t base;       /* all cells below have been scattered */
    uint32_t scattered;  /* bit v: the cell of slot v has been */
    uint32_t given_out;  /* bit v: its receivers have been told */
    uint64_t delivered;
    uint64_t entry[CTN_STAGE_SLOTS];   /* delivery number of the slot */
    uint64_t pending[CTN_STAGE_SLOTS]; /* send slots the network still has */
    uint64_t batch_end; /* without overlap: cells that may be gathered */
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
    ctn_cursor_t push;
    uint64_t pushed;
    uint64_t to_push;
    uint64_t taken;
    uint64_t to_take;
} ctn_service_t;

typedef struct ctn_plan {
    ctn_attachment_t attachment;
    ctn_topo_t *topo;
    uint32_t leaders;
    ctn_placement_t placement;
    enum { CTN_PLAN_NEW, CTN_PLAN_BUILDING, CTN_PLAN_READY } state;
    uint32_t most;                  /* members on the largest node */
    uint32_t *host;                 /* [leaders]: member of this node */
    ctn_endpoint_t **host_endpoint; /* [leaders] */
    uint32_t ports;
    ctn_port_t *port; /* hosted here */
    /* In the heap of the node's root. */
    const ctn_address_t *address; /* [node][leader]: process, port block */
    ctn_counter_t *counter;       /* [ring][leader] */
    ctn_answer_t *answer;         /* [ring][member][leader] */
    void *shared;                 /* all of it, at the root; else NULL */
    /* Working memory of the operations under way. */
    ctn_service_t *service[CTN_FLIGHT]; /* [leaders] */
    /* [member]: the buffers within a leader's reach, and our own alone */
    const unsigned char **source[CTN_FLIGHT];
    unsigned char **target[CTN_FLIGHT];
    const unsigned char **own_source[CTN_FLIGHT];
    unsigned char **own_target[CTN_FLIGHT];
} ctn_plan_t;

/** A phase's way to have a plan: as ctn_topo_need. The roster is built. */
ctn_step_t ctn_plan_need(ctn_op_t *op, ctn_topo_t *topo, uint32_t leaders,
                         ctn_placement_t placement, ctn_plan_t **plan);

/** The i-th leader of a node of n members, of `count` leaders.
 * @param domains NUMA domain of each member, or NULL when not all have one */
uint32_t ctn_plan_leader(const int32_t *domains, uint32_t n, uint32_t count,
                         ctn_placement_t placement, uint32_t i);

/* Offsets within a port block. */

static inline size_t ctn_port_stage_start(uint32_t nodes)
{
    size_t words =
        sizeof(ctn_port_block_t) + (size_t)CTN_RINGS * nodes * sizeof(uint64_t);
    return (words + 4095) & ~(size_t)4095;
}

/** Staging of what arrives, by ring and slot. */
static inline size_t ctn_port_receive_at(uint32_t nodes, uint64_t ring,
                                         uint64_t slot)
{
    return ctn_port_stage_start(nodes) +
           (ring * CTN_STAGE_SLOTS + slot) * CTN_STAGE_BYTES;
}

/** Staging of what is sent, by operation under way and slot. */
static inline size_t ctn_port_send_at(uint32_t nodes, uint64_t set,
                                      uint64_t slot)
{
    return ctn_port_receive_at(nodes, CTN_RINGS, 0) +
           (set * CTN_STAGE_SLOTS + slot) * CTN_STAGE_BYTES;
}

static inline size_t ctn_port_bytes(uint32_t nodes)
{
    return ctn_port_send_at(nodes, CTN_FLIGHT, 0);
}

static inline size_t ctn_port_granted_at(uint32_t nodes, uint64_t ring,
                                         uint32_t node)
{
    return offsetof(ctn_port_block_t, granted) +
           (ring * nodes + node) * sizeof(uint64_t);
}

#endif
