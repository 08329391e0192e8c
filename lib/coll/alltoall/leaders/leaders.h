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
    ctn_leader_params_t params;
    ctn_topo_t *topo;
    ctn_leader_layout_t *layout;
    ctn_geometry_t geometry;
    unsigned set; /* index of its working memory: seq % CTN_FLIGHT */
    uint32_t
        descriptors_read;    /* members whose buffer descriptor has been read */
    bool local_done;         /* the exchange `local` is over */
    bool ports_done;         /* the work of this member's ports is over */
    bool any_staged_send;    /* some other member of the node has a send buffer
                                out of reach */
    bool any_staged_receive; /* the same for receive buffers */
    bool push;               /* this member's send buffer is out of reach */
    bool take;               /* this member's receive buffer is out of reach */
    bool known;              /* the buffer descriptors have been read */
    bool has_posted;         /* a receive has been posted at the network, and
                                may still be */
    bool mismatch;           /* some message had other lengths */
    uint32_t peer_checks;    /* exec->peer_checks at the start or last check */
    uint32_t departed;       /* virtual leaders known to be done */
    ctn_pairwise_t local;    /* the blocks that leaders do not send */
} ctn_leaders_t;

/* Words of this node, of this operation's generation. */

static inline uint64_t ctn_leaders_generation(const ctn_op_t *op)
{
    return op->seq % CTN_GENERATIONS;
}

static inline ctn_counter_t *
ctn_leaders_counter(const ctn_op_t *op, const ctn_leaders_t *a, uint32_t leader)
{
    return &a->layout->counter[ctn_leaders_generation(op) * a->layout->leaders +
                               leader];
}

static inline ctn_answer_t *ctn_leaders_answer(const ctn_op_t *op,
                                               const ctn_leaders_t *a,
                                               uint32_t member, uint32_t leader)
{
    size_t n = ctn_topo_local_size(a->topo);
    return &a->layout->answer[(ctn_leaders_generation(op) * n + member) *
                                  a->layout->leaders +
                              leader];
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
/** Cancel all posted receives: for an operation that failed. */
void ctn_ports_end(const ctn_op_t *op, const ctn_leaders_t *a);
/** Do what is possible at one of this member's ports. 1: something was done, 0:
 * nothing, < 0: status. */
int ctn_port_advance(ctn_op_t *op, ctn_leaders_t *a, ctn_port_t *port);

/** Initialize this member's own copies to and from its buffers, if these are
 * out of reach. */
void ctn_service_begin(ctn_leaders_t *a);
/** Copy what is possible. NEXT: nothing is left. */
ctn_step_t ctn_service_advance(ctn_op_t *op, ctn_leaders_t *a);

#endif
