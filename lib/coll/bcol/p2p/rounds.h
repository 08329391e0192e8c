#ifndef CTN_COLL_BCOL_P2P_ROUNDS_H
#define CTN_COLL_BCOL_P2P_ROUNDS_H

#include "coll/bcol/p2p/p2p.h"

/* Schedules: most basic collectives over messages consist of rounds. In a round
 * a member sends at most one message and receives at most one, and then copies
 * or reduces what it received. A builder computes the rounds one by one, each
 * when the one before it has ended; the executor runs them, and polls. */

/** What becomes of the message of a round. */
typedef enum ctn_p2p_take {
    CTN_P2P_DROP,  /* it has no data */
    CTN_P2P_KEEP,  /* it is the new value */
    CTN_P2P_COPY,  /* it is copied to `out`; without a message: the value */
    CTN_P2P_REDUCE /* it is reduced with `own` to `out`, the new value. The data
                      of the lower member are the left operand. */
} ctn_p2p_take_t;

/** In place of a member. */
#define CTN_P2P_NOBODY UINT32_MAX

/** A round of one member. */
typedef struct ctn_p2p_round {
    /* The message that it sends. */
    uint32_t to; /* a member, or NOBODY */
    unsigned to_slot;
    const void *data;
    size_t bytes;
    const void *tail; /* of a message that lies in two places: the rest */
    size_t tail_bytes;
    bool as_is; /* send it even if the data are invalid for this member */
    /* The message that it receives. */
    uint32_t from; /* a member, or NOBODY */
    unsigned from_slot;
    size_t from_bytes;
    /* What follows. */
    ctn_p2p_take_t take;
    const void *own;
    void *out;       /* NULL: the memory of the message */
    bool overwrites; /* `out` may still be sent from: first wait for that */
} ctn_p2p_round_t;

/** First member of the state of an operation that consists of rounds. */
typedef struct ctn_p2p_rounds {
    ctn_p2p_call_t call;   /* first */
    unsigned index;        /* number of the current round */
    bool begun;            /* `round` is set */
    bool sent;             /* its message is sent */
    ctn_p2p_round_t round; /* the current one */
    ctn_receive_handle_t handle;
    const void *value; /* the partial result; at first this member's input */
} ctn_p2p_rounds_t;

/** An algorithm of rounds. */
typedef struct ctn_p2p_schedule {
    ctn_algorithm_t algorithm; /* first */
    unsigned signature; /* ctn_p2p_vector_algorithm_t, unless `begin` is set */
    /** Sets the signature, and calls ctn_p2p_rounds_begin. NULL: an algorithm
     * of vectors. */
    void (*begin)(ctn_op_t *op);
    /** Set round `index`, in which nothing happens so far. Called once for each
     * round. @return false: there are no more rounds */
    bool (*round)(ctn_op_t *op, unsigned index, ctn_p2p_round_t *round);
    /** Instead of round->take. NULL: as that says.
     * @param message  NULL: the round receives none */
    catena_status_t (*take)(ctn_op_t *op, unsigned index,
                            const ctn_p2p_round_t *round,
                            unsigned char *message);
} ctn_p2p_schedule_t;

/** Begin with round 0; called when the operation has a signature. */
void ctn_p2p_rounds_begin(ctn_op_t *op);
/** A phase: run the rounds. */
ctn_step_t ctn_p2p_rounds_run(ctn_op_t *op);
/** Release what a round holds; called by an algorithm's `finish` if messages
 * may not fit their slots. */
void ctn_p2p_rounds_finish(ctn_op_t *op);

/** The phases of an algorithm that consists of rounds only. */
extern const ctn_phase_t ctn_p2p_rounds_phases[];
#define CTN_P2P_ROUNDS(its_name, state, synchronizes)                          \
    .algorithm = {.name = (its_name),                                          \
                  .state_bytes = sizeof(state),                                \
                  .phases = ctn_p2p_rounds_phases,                             \
                  .synchronizing = (synchronizes)}

extern const ctn_p2p_schedule_t ctn_p2p_dissemination;
extern const ctn_p2p_schedule_t ctn_p2p_doubling;
extern const ctn_p2p_schedule_t ctn_p2p_halving;
extern const ctn_p2p_schedule_t ctn_p2p_inclusive_scan;
extern const ctn_p2p_schedule_t ctn_p2p_exclusive_scan;
extern const ctn_p2p_schedule_t ctn_p2p_up;          /* reduce, fan-in */
extern const ctn_p2p_schedule_t ctn_p2p_down;        /* bcast, fan-out */
extern const ctn_p2p_schedule_t ctn_p2p_up_and_down; /* allreduce, barrier */
extern const ctn_p2p_schedule_t ctn_p2p_bruck;
extern const ctn_p2p_schedule_t ctn_p2p_recursive_halving;

static inline void ctn_p2p_round_send(ctn_p2p_round_t *round, uint32_t to,
                                      unsigned slot, const void *data,
                                      size_t bytes)
{
    round->to = to;
    round->to_slot = slot;
    round->data = data;
    round->bytes = bytes;
}

static inline void ctn_p2p_round_receive(ctn_p2p_round_t *round, uint32_t from,
                                         unsigned slot, size_t bytes)
{
    round->from = from;
    round->from_slot = slot;
    round->from_bytes = bytes;
}

static inline void ctn_p2p_round_copy(ctn_p2p_round_t *round, void *out,
                                      size_t bytes)
{
    round->take = CTN_P2P_COPY;
    round->out = out;
    round->from_bytes = bytes;
}

static inline void ctn_p2p_round_reduce(ctn_p2p_round_t *round, const void *own,
                                        void *out)
{
    round->take = CTN_P2P_REDUCE;
    round->own = own;
    round->out = out;
}

#endif
