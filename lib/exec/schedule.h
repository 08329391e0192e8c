#ifndef CTN_EXEC_SCHEDULE_H
#define CTN_EXEC_SCHEDULE_H

#include "exec/message.h"

/* Schedules: algorithms that consist of rounds of messages. In a round a member
 * sends up to two messages and receives up to two. When these have arrived, it
 * takes them: it copies, reduces or keeps what they contain. A schedule
 * computes the rounds one by one, each when the one before it has ended.
 * ctn_rounds_run runs them: for chains, splits, and basic collectives over
 * messages.
 *
 * Messages are sent without a copy (ctn_message_send_zcopy): their data do not
 * change before they have been read. If a round overwrites data from which an
 * earlier message or one of its own may still be read, it sets `overwrites`.
 * The rounds end when all rendezvous messages have been read. */

enum {
    CTN_ROUND_MESSAGES = 2, /* each way in a round, at most */
    CTN_ROUND_SLOTS = 192   /* numbers of slots are smaller */
};

/** An algorithm of rounds. */
typedef struct ctn_rounds_schedule {
    /** Set the messages of round `index`, which has none so far
     * (ctn_rounds_send, ctn_rounds_receive). Called once for each round. After
     * an error it sets op->status. @return false: there are no more rounds */
    bool (*round)(ctn_op_t *op, unsigned index);
    /** The messages of the round have arrived: take them from the handles. */
    catena_status_t (*take)(ctn_op_t *op, unsigned index);
    /** Receive message i of the round, as ctn_message_receive does; NULL: by
     * that. */
    ctn_step_t (*receive)(ctn_op_t *op, unsigned i);
} ctn_rounds_schedule_t;

/** The rounds of an operation, a part of its state; zeroed when the operation
 * is created. Arrays have an entry for each message of a round. */
typedef struct ctn_rounds {
    unsigned index;  /* number of the current round */
    uint32_t turn;   /* of all messages, see exec/message.h */
    bool begun;      /* the round is set */
    bool overwrites; /* what it takes may overwrite data that were sent: first
                        wait until all messages have been read */
    uint8_t sends;   /* bit i: message i has yet to be sent */
    uint8_t awaited; /* bit i: message i has yet to arrive */
    struct {
        ctn_address_t to;
        unsigned slot;
        const void *data; /* see ctn_message_send_zcopy */
        size_t bytes;
        const void *tail; /* of a message that lies in two places: the rest */
        size_t tail_bytes;
    } send[CTN_ROUND_MESSAGES];
    struct {
        ctn_address_t from;
        int64_t rank; /* of the sender, for reports; -1: unknown */
        unsigned slot;
    } receive[CTN_ROUND_MESSAGES];
    ctn_receive_handle_t handle[CTN_ROUND_MESSAGES];
    bool any_unread; /* any bit below is set */
    /* By slot: a rendezvous message is sent from there, and not yet read. */
    uint64_t unread[CTN_ROUND_SLOTS / 64];
} ctn_rounds_t;

/** Begin with round 0. */
static inline void ctn_rounds_begin(ctn_rounds_t *rounds, uint32_t turn)
{
    rounds->index = 0;
    rounds->turn = turn;
    rounds->begun = false;
}

/** Set message i that this member sends in the round. */
static inline void ctn_rounds_send(ctn_rounds_t *rounds, unsigned i,
                                   ctn_address_t to, unsigned slot,
                                   const void *data, size_t bytes)
{
    rounds->sends |= (uint8_t)(1u << i);
    rounds->send[i].to = to;
    rounds->send[i].slot = slot;
    rounds->send[i].data = data;
    rounds->send[i].bytes = bytes;
    rounds->send[i].tail_bytes = 0;
}

/** Set message i that this member receives in the round. */
static inline void ctn_rounds_receive(ctn_rounds_t *rounds, unsigned i,
                                      ctn_address_t from, unsigned slot,
                                      int64_t rank)
{
    rounds->awaited |= (uint8_t)(1u << i);
    rounds->receive[i].from = from;
    rounds->receive[i].slot = slot;
    rounds->receive[i].rank = rank;
}

/** A phase calls this until it returns NEXT: all rounds are over. */
ctn_step_t ctn_rounds_run(ctn_op_t *op, ctn_rounds_t *rounds,
                          const ctn_rounds_schedule_t *schedule);

/** Whether all messages have been read: what they were sent from may change. */
bool ctn_rounds_all_read(const ctn_op_t *op, ctn_rounds_t *rounds);

/** Release the handles of a round that has not ended; called by the `finish` of
 * an algorithm. Not needed if no message is longer than a slot. */
void ctn_rounds_release(ctn_op_t *op, ctn_rounds_t *rounds);

#endif
