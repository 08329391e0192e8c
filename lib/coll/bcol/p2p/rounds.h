#ifndef CTN_COLL_BCOL_P2P_ROUNDS_H
#define CTN_COLL_BCOL_P2P_ROUNDS_H

#include "coll/bcol/p2p/p2p.h"
#include "exec/schedule.h"

/* Most basic collectives over messages consist of rounds (exec/schedule.h). In
 * a round a member sends at most one message and receives at most one, and then
 * copies or reduces what it received. */

/** What becomes of the message of a round. */
typedef enum ctn_p2p_take {
    CTN_P2P_DROP,  /* it has no data */
    CTN_P2P_KEEP,  /* it is the new value */
    CTN_P2P_COPY,  /* it is copied to `out`; without a message: the value */
    CTN_P2P_REDUCE /* it is reduced with `own` to `out`, the new value. The data
                      of the lower member are the left operand. */
} ctn_p2p_take_t;

/** First member of the state of an operation that consists of rounds. */
typedef struct ctn_p2p_rounds {
    ctn_p2p_call_t call; /* first */
    const void *value;   /* the partial result; at first this member's input */
    /* Of the current round: */
    uint32_t from; /* the member that it receives from */
    size_t bytes;  /* of the message that it receives, or copies */
    ctn_p2p_take_t take;
    const void *own;
    void *out; /* NULL: the memory of the message */
    ctn_rounds_t rounds;
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
    bool (*round)(ctn_op_t *op, unsigned index);
    /** Instead of rounds->take. NULL: as that says.
     * @param message NULL: the round receives none */
    catena_status_t (*take)(ctn_op_t *op, unsigned index,
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
extern const ctn_p2p_schedule_t ctn_p2p_pairwise_barrier;
extern const ctn_p2p_schedule_t ctn_p2p_doubling;
extern const ctn_p2p_schedule_t ctn_p2p_halving;
extern const ctn_p2p_schedule_t ctn_p2p_inclusive_scan;
extern const ctn_p2p_schedule_t ctn_p2p_exclusive_scan;
extern const ctn_p2p_schedule_t ctn_p2p_chain_scan;
extern const ctn_p2p_schedule_t ctn_p2p_balanced_reduce;
extern const ctn_p2p_schedule_t ctn_p2p_balanced_linear;
extern const ctn_p2p_schedule_t ctn_p2p_up;          /* reduce, fan-in */
extern const ctn_p2p_schedule_t ctn_p2p_down;        /* bcast, fan-out */
extern const ctn_p2p_schedule_t ctn_p2p_up_and_down; /* allreduce, barrier */
extern const ctn_p2p_schedule_t ctn_p2p_bruck;
extern const ctn_p2p_schedule_t ctn_p2p_recursive_halving;

/* Units: algorithms of which each round halves or doubles something run among
 * 2^k units, k = floor(log2 m). A unit is one member, or a pair of neighboring
 * members; there are pairs only if m is no power of two. The second member of a
 * pair is passive: it first sends its data to the first one, and receives its
 * result from it in the end. Units have the order of their members, so
 * operations need not commute. They are those of the balanced tree
 * (type/balanced.h), by which all these algorithms combine data. */
typedef struct ctn_p2p_units {
    unsigned rounds; /* k */
    uint32_t paired; /* the first `paired` units are pairs */
    uint32_t unit;   /* that this member belongs to */
    bool in_pair;    /* it is a pair */
    bool passive;    /* this member is the second of a pair */
} ctn_p2p_units_t;

static inline ctn_p2p_units_t ctn_p2p_units_of(const ctn_p2p_t *p2p)
{
    ctn_p2p_units_t units = {.rounds = ctn_balanced_levels(p2p->size),
                             .paired = ctn_balanced_pairs(p2p->size)};
    units.in_pair = p2p->me < 2 * units.paired;
    units.unit = units.in_pair ? p2p->me / 2 : p2p->me - units.paired;
    units.passive = units.in_pair && p2p->me % 2 == 1;
    return units;
}

/** The first member of a unit. */
static inline uint32_t ctn_p2p_unit_member(const ctn_p2p_units_t *units,
                                           uint32_t unit)
{
    return ctn_balanced_first(units->paired, unit);
}

/* The way up to a root by the balanced tree: balanced_reduce.c. */

/** The number of rounds; in some a member does nothing. */
unsigned ctn_p2p_balanced_rounds(const ctn_p2p_rounds_t *rounds);
/** Set round `index`. */
void ctn_p2p_balanced_up(ctn_p2p_rounds_t *rounds, uint32_t root,
                         unsigned index);

/** Most members for which the linear form has memory; it needs at least 2. A
 * module has 2 * ceil(log2 m) + 4 eager buffers, too few for m - 1 vectors if m
 * is above 13. */
enum { CTN_P2P_LINEAR_MEMBERS = 13 };

/* What a round does. */

/** It sends `bytes` of user data, even if they are invalid on this member. */
static inline void ctn_p2p_round_send_as_is(ctn_p2p_rounds_t *rounds,
                                            uint32_t to, unsigned slot,
                                            const void *data, size_t bytes)
{
    const ctn_module_t *module = &rounds->call.p2p->module;
    ctn_rounds_send(&rounds->rounds, 0, module->sbgp->member[to].memory, slot,
                    ctn_exec_data(module->exec, data), bytes);
}

/** It sends `bytes` of user data. If these are invalid after a length mismatch,
 * it sends a message without data that says so. */
static inline void ctn_p2p_round_send(ctn_p2p_rounds_t *rounds, uint32_t to,
                                      unsigned slot, const void *data,
                                      size_t bytes)
{
    ctn_p2p_round_send_as_is(
        rounds, to, slot, data,
        rounds->call.status == CATENA_OK ? bytes : CTN_MESSAGE_MISMATCH);
}

/** It receives a message of `bytes`. */
static inline void ctn_p2p_round_receive(ctn_p2p_rounds_t *rounds,
                                         uint32_t from, unsigned slot,
                                         size_t bytes)
{
    const ctn_sbgp_member_t *member =
        &rounds->call.p2p->module.sbgp->member[from];
    ctn_rounds_receive(&rounds->rounds, 0, member->memory, slot, member->rank);
    rounds->from = from;
    rounds->bytes = bytes;
}

/** It copies `bytes`, see CTN_P2P_COPY. */
static inline void ctn_p2p_round_copy(ctn_p2p_rounds_t *rounds, void *out,
                                      size_t bytes)
{
    rounds->take = CTN_P2P_COPY;
    rounds->out = out;
    rounds->bytes = bytes;
}

/** It reduces, see CTN_P2P_REDUCE. */
static inline void ctn_p2p_round_reduce(ctn_p2p_rounds_t *rounds,
                                        const void *own, void *out)
{
    rounds->take = CTN_P2P_REDUCE;
    rounds->own = own;
    rounds->out = out;
}

#endif
