#ifndef CTN_COLL_ALLTOALL_LEADERS_ROUNDS_H
#define CTN_COLL_ALLTOALL_LEADERS_ROUNDS_H

#include "coll/alltoall/alltoall.h"
#include "core/cache_line.h"

/* The messages between nodes in the algorithms whose steps do not overlap
 * (A2A-8 to A2A-11): all members of a node fill messages in the memory of its
 * leaders, the leaders exchange them, and all members read the received
 * messages.
 *
 * Round i of M, the number of nodes: node A sends a message to node A + i and
 * receives one from node A - i. Round 0 is the node itself and is not sent.
 * Leader i mod L has round i. A message is sent as [receiver][sender], by local
 * ranks. A leader puts it into memory that the receiving leader allocates for
 * the call and announces in a CTS.
 *
 * Each member also publishes its buffers. The phases of these algorithms are
 * those of rounds.c, and their own phases that copy. */

/** A round: a leader sends a message to a leader of another node and receives
 * one. */
typedef struct ctn_leader_round {
    uint32_t number;      /* 0: the node itself */
    uint32_t to, from;    /* nodes */
    size_t out, in;       /* bytes of the messages */
    size_t out_at, in_at; /* their places among those of this node's leader */
} ctn_leader_round_t;

/** The memory of a leader: this line, the gathered messages, the messages to
 * send if the leader transposes them, and the received messages. A line with a
 * word precedes each message. */
typedef struct ctn_leader_rounds_area {
    uint64_t word;     /* sequence flag: all messages have been received */
    uint64_t received; /* offset of the received messages in this memory */
} ctn_leader_rounds_area_t;

/** State of the operation. */
typedef struct ctn_leader_rounds {
    ctn_alltoall_t call;
    ctn_topo_t *topo;
    size_t bytes;  /* of a block */
    uint32_t here; /* members of this node */
    uint32_t next; /* the member or leader that a fence waits for */
    /* of a leader */
    unsigned char *area; /* its memory; NULL at others */
    size_t area_bytes;
    unsigned char *sent_from; /* in it: the messages to send */
    unsigned char *received;  /* likewise */
    ctn_leader_round_t round; /* of the exchange */
    bool sent;                /* the message of this round */
    bool all_sent;            /* those of all rounds */
} ctn_leader_rounds_t;

/** Offsets of the next messages at the leaders of this node, in a loop over all
 * rounds. Initially zero. */
typedef struct ctn_leader_round_places {
    size_t at[CTN_MAX_LEADERS];
} ctn_leader_round_places_t;

/** Return round `number`. */
ctn_leader_round_t ctn_leader_round_at(const ctn_leader_rounds_t *a,
                                       uint32_t number);

/** Return the next message at its leader on this node, after `await_started`.
 * @param outgoing a gathered message, else a received one
 * @param[in,out] places of the rounds before this one */
unsigned char *ctn_leader_round_message(const ctn_op_t *op,
                                        const ctn_leader_rounds_t *a,
                                        const ctn_leader_round_t *r,
                                        bool outgoing,
                                        ctn_leader_round_places_t *places);

/** Set *r to the first round in which this member leads, from r->number on,
 * with the places that r has. False: there is none. */
bool ctn_leader_round_find(const ctn_leader_rounds_t *a, ctn_leader_round_t *r);
/** Set *r to the next round of this leader. */
bool ctn_leader_round_next(const ctn_leader_rounds_t *a, ctn_leader_round_t *r);

/** Begin: if this member leads, allocate its memory; publish it, and the
 * buffers of this member.
 * @param transposes the leader transposes the messages before it sends them */
ctn_step_t ctn_leader_rounds_begin(ctn_op_t *op, bool transposes);

/* Phases. */

/** Fence: all members of the node have started, with blocks of one length. */
ctn_step_t ctn_leader_rounds_await_started(ctn_op_t *op);
/** Fence: all members of the node have gathered (`arrived`). */
ctn_step_t ctn_leader_rounds_await_gathered(ctn_op_t *op);
/** A leader sends the messages of all its rounds; `exchange` receives. */
ctn_step_t ctn_leader_rounds_send(ctn_op_t *op);
/** A leader exchanges its messages, round by round. Then all members of its
 * node may read them. */
ctn_step_t ctn_leader_rounds_exchange(ctn_op_t *op);
/** Fence: all leaders of the node have received all messages. */
ctn_step_t ctn_leader_rounds_await_received(ctn_op_t *op);
/** Fence: all members of the node have scattered (`departed`). */
ctn_step_t ctn_leader_rounds_await_scattered(ctn_op_t *op);

/** The finish function of these algorithms. */
void ctn_leader_rounds_finish(ctn_op_t *op);

#endif
