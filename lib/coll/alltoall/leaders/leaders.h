#ifndef CTN_COLL_ALLTOALL_LEADERS_LEADERS_H
#define CTN_COLL_ALLTOALL_LEADERS_LEADERS_H

#include "coll/alltoall/alltoall.h"
#include "coll/alltoall/leaders/fragment.h"

/* One alltoall through leaders: leaders.c runs it, port.c is the work of a
 * virtual leader, service.c that of a member with buffers out of reach of the
 * leaders: outside the heap, or not contiguous. Parameter a is the state of the
 * operation. */

/** State of an alltoall through leaders on a member. */
typedef struct ctn_leaders {
    ctn_alltoall_t call;
    ctn_topo_t *topo;
    ctn_leader_layout_t *layout;
    ctn_geometry_t geometry;
    unsigned set; /* index of its working memory: seq % CTN_FLIGHT */
    uint32_t
        descriptors_read; /* members whose buffer descriptor has been read */
    bool local_done;      /* the exchange `local` is over */
    bool ports_done;      /* the work of this member's ports is over */
    bool serves[2];       /* [outgoing]: this member's buffer is out of
                             reach */
    uint64_t *served;     /* that of the layout, for this operation */
    bool known;           /* the buffer descriptors have been read */
    bool has_posted;      /* a receive has been posted at the network, and
                             may still be */
    bool has_sent;        /* a port has sent a fragment */
    uint32_t peer_checks; /* exec->peer_checks at the start or last check */
    uint32_t departed;    /* virtual leaders known to be done */
    ctn_pairwise_t local; /* the blocks that leaders do not send */
} ctn_leaders_t;

/* Words of this node, of this operation's generation. */

static inline uint64_t ctn_leaders_generation(const ctn_op_t *op)
{
    return op->seq % CTN_GENERATIONS;
}

static inline ctn_counter_t *ctn_leaders_counter(const ctn_op_t *op,
                                                 const ctn_leaders_t *a,
                                                 uint32_t leader, bool outgoing)
{
    uint64_t leaders = a->layout->leaders;
    return &a->layout
                ->counter[(ctn_leaders_generation(op) * leaders + leader) * 2 +
                          outgoing];
}

static inline uint64_t *ctn_leaders_copied(const ctn_op_t *op,
                                           const ctn_leaders_t *a,
                                           uint32_t member, uint32_t leader,
                                           bool outgoing)
{
    size_t n = ctn_topo_local_size(a->topo);
    uint64_t row = ctn_leaders_generation(op) * n + member;
    return &a->layout
                ->copied[(row * a->layout->leaders + leader) * 2 + outgoing];
}

/** Whether a message to a virtual leader of this node had other lengths. */
static inline bool ctn_leaders_mismatch(const ctn_op_t *op,
                                        const ctn_leaders_t *a, uint32_t leader)
{
    return ctn_word_load(
               &ctn_leaders_counter(op, a, leader, false)->mismatch) ==
           ctn_flag64(op->seq);
}

/** The count of this operation in a word, 0 when the word is of another one. */
static inline uint64_t ctn_leaders_count(const ctn_op_t *op,
                                         const uint64_t *word)
{
    uint64_t value = ctn_word_load(word);
    return ctn_flag_matches(value, op->seq) ? ctn_flag_count(value) : 0;
}

/** Value of the word that signals a fragment from `node`. Values may repeat in
 * a slot, so the receiver clears the word before another fragment gets the
 * slot.
 */
static inline uint64_t ctn_leaders_arrival(const ctn_op_t *op, uint32_t node,
                                           uint32_t number)
{
    return ctn_flag(op->seq,
                    (uint64_t)((number + 1) & 0xffff) << 16 | (node & 0xffff));
}

/** The port of virtual leader `leader` on `node`. */
static inline const ctn_address_t *
ctn_leaders_port(const ctn_leaders_t *a, uint32_t node, uint32_t leader)
{
    return &a->layout->address[node * a->layout->leaders + leader];
}

/** Initialize this member's ports and assign the first incoming fragments
 * their places (ctn_port_run_t). */
catena_status_t ctn_ports_begin(ctn_op_t *op, ctn_leaders_t *a);
/** Whether the network still reads the send slots of the ports. */
bool ctn_ports_send(const ctn_leaders_t *a);
/** Cancel all posted receives: for an operation that failed. */
void ctn_ports_end(const ctn_op_t *op, const ctn_leaders_t *a);
/** Do what is possible at this member's ports. NEXT: all is done. */
ctn_step_t ctn_ports_advance(ctn_op_t *op, ctn_leaders_t *a);

/** If this member's buffers are out of reach: copy its shares of the fragments
 * that the leaders of its node have made ready. True: there were some. */
bool ctn_service_advance(ctn_op_t *op, const ctn_leaders_t *a);

#endif
