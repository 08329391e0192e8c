#include "coll/bcol/p2p/rounds.h"

static const ctn_p2p_schedule_t *schedule_of(const ctn_op_t *op)
{
    return (const ctn_p2p_schedule_t *)op->algorithm;
}

void ctn_p2p_rounds_begin(ctn_op_t *op)
{
    ctn_p2p_rounds_t *rounds = ctn_op_state(op);
    const ctn_basic_coll_t *basic =
        rounds->call.basic; /* NULL: a generation barrier */
    rounds->value = basic != NULL ? basic->in : NULL;
    ctn_rounds_begin(&rounds->rounds, rounds->call.signature);
}

static ctn_step_t begin(ctn_op_t *op)
{
    const ctn_p2p_schedule_t *schedule = schedule_of(op);
    if (schedule->begin != NULL) {
        schedule->begin(op);
    } else {
        ctn_p2p_begin_vector(op, schedule->signature);
        ctn_p2p_rounds_begin(op);
    }
    return CTN_STEP_NEXT;
}

static bool set_round(ctn_op_t *op, unsigned index)
{
    ctn_p2p_rounds_t *rounds = ctn_op_state(op);
    rounds->take = CTN_P2P_DROP;
    return schedule_of(op)->round(op, index);
}

static ctn_step_t receive(ctn_op_t *op, unsigned i)
{
    ctn_p2p_rounds_t *rounds = ctn_op_state(op);
    return ctn_p2p_receive_blocks(op, rounds->from,
                                  rounds->rounds.receive[i].slot, rounds->bytes,
                                  &rounds->rounds.handle[i]);
}

/** Do with the message of a round what the round says. */
static catena_status_t take_message(ctn_op_t *op, ctn_p2p_rounds_t *rounds,
                                    unsigned char *message)
{
    const void *own = rounds->own;
    switch (rounds->take) {
    case CTN_P2P_DROP:
        return CATENA_OK;
    case CTN_P2P_KEEP:
        rounds->value = message;
        return CATENA_OK;
    case CTN_P2P_COPY:
        ctn_p2p_copy(op, rounds->out, message != NULL ? message : rounds->value,
                     rounds->bytes);
        return CATENA_OK;
    default:
        rounds->value = rounds->out != NULL ? rounds->out : message;
        bool left = rounds->from < rounds->call.p2p->me;
        ctn_p2p_reduce(op, left ? message : own, left ? own : message,
                       (void *)(uintptr_t)rounds->value, rounds->bytes);
        return CATENA_OK;
    }
}

static catena_status_t take(ctn_op_t *op, unsigned index)
{
    ctn_p2p_rounds_t *rounds = ctn_op_state(op);
    unsigned char *message =
        (unsigned char *)(uintptr_t)rounds->rounds.handle[0].data;
    return schedule_of(op)->take != NULL
               ? schedule_of(op)->take(op, index, message)
               : take_message(op, rounds, message);
}

ctn_step_t ctn_p2p_rounds_run(ctn_op_t *op)
{
    static const ctn_rounds_schedule_t schedule = {set_round, take, receive};
    ctn_p2p_rounds_t *rounds = ctn_op_state(op);
    return ctn_rounds_run(op, &rounds->rounds, &schedule);
}

void ctn_p2p_rounds_finish(ctn_op_t *op)
{
    ctn_p2p_rounds_t *rounds = ctn_op_state(op);
    ctn_rounds_release(op, &rounds->rounds);
}

const ctn_phase_t ctn_p2p_rounds_phases[] = {{"begin", begin},
                                             {"rounds", ctn_p2p_rounds_run},
                                             {"end", ctn_p2p_end_vector},
                                             {NULL, NULL}};
