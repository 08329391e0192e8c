#ifndef CTN_COLL_ALLTOALL_LEADERS_ROUNDS_H
#define CTN_COLL_ALLTOALL_LEADERS_ROUNDS_H

#include "coll/alltoall/alltoall.h"
#include "core/cache_line.h"

/* The messages between nodes of the algorithms whose steps follow each other
 * (A2A-8 to A2A-11): all members of a node fill messages in the memory of its
 * leaders, the leaders exchange them, and all members read what has arrived.
 *
 * Round i of M, the number of nodes: node A sends a message to node A + i and
 * receives one from node A - i. Round 0 is the node itself and is not sent.
 * Leader i mod L has round i. A message is sent as [receiver][sender], by local
 * ranks. A leader puts it into memory of the call, which a CTS announces.
 *
 * A member's buffers are published, too. Phases of these algorithms are those
 * of rounds.c, and some of their own that copy. */

/** A round, in which the leader of one number sends a message to the leader of
 * another node and receives one. */
typedef struct ctn_leader_round {
    uint32_t number;      /* 0: the node itself */
    uint32_t to, from;    /* nodes */
    size_t out, in;       /* bytes of the messages */
    size_t out_at, in_at; /* their places among those of this node's leader */
} ctn_leader_round_t;

/** The memory of a leader: this line, what its members gather, what it sends if
 * it transposes that, and what it receives. Before each message is a line with
 * a word. */
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

/** Places of messages at the leaders of this node, for a loop over all rounds;
 * zero at first. */
typedef struct ctn_leader_round_places {
    size_t at[CTN_MAX_LEADERS];
} ctn_leader_round_places_t;

/** Return round `number`. */
ctn_leader_round_t ctn_leader_round_at(const ctn_leader_rounds_t *a,
                                       uint32_t number);

/** Return the next message at its leader on this node, after `await_started`.
 * @param outgoing what the members gather, else what has been received
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
/** A leader exchanges its messages, in round after round; then all members of
 * its node may read them. */
ctn_step_t ctn_leader_rounds_exchange(ctn_op_t *op);
/** Fence: all leaders of the node have received all messages. */
ctn_step_t ctn_leader_rounds_await_received(ctn_op_t *op);
/** Fence: all members of the node have scattered (`departed`). */
ctn_step_t ctn_leader_rounds_await_scattered(ctn_op_t *op);

/** The finish function. */
void ctn_leader_rounds_finish(ctn_op_t *op);

#endif
