#ifndef CTN_NEIGHBOR_CALL_EXECUTOR_H
#define CTN_NEIGHBOR_CALL_EXECUTOR_H

#include "core/region.h"
#include "neighbor/call/inline.h"

/* The executor: runs one neighborhood collective as its schedule says. Data
 * move from blocks to messages (call/executor.c), and from messages to blocks,
 * to the result of a reduction, or to further messages (call/arrival.c,
 * call/operands.c). */

/** How a collective of calls.def runs here. */
typedef struct ctn_neighbor_collective {
    ctn_algorithm_t algorithm; /* CTN_EXCHANGE_ALGORITHM(its name) */
    const ctn_description_t *call;
    uint32_t index;     /* in neighborhood->last_of */
    unsigned operation; /* CATENA_NEIGHBOR_...: the bit that a neighborhood must
                           be made for */
} ctn_neighbor_collective_t;

/** call/collectives.c: the collective of this name ("neighbor_alltoallv");
 * NULL: there is none, which is logged. */
const ctn_neighbor_collective_t *
ctn_neighbor_collective_named(const char *function, const ctn_log_t *log,
                              const char *name);

/** Records that a collective ran with this schedule, which a rule selected. If
 * it last ran so, too, this stores nothing: after a short exchange, stores wait
 * for those to other ranks. */
static inline void
ctn_neighbor_record(catena_neighborhood_t *neighborhood,
                    const ctn_neighbor_collective_t *collective,
                    const ctn_schedule_t *schedule, const ctn_rule_t *rule)
{
    ctn_neighbor_ran_t *ran = &neighborhood->last_of[collective->index];
    if (neighborhood->last == schedule && ran->schedule == schedule &&
        ran->rule == rule) {
        return;
    }
    neighborhood->last = schedule;
    *ran = (ctn_neighbor_ran_t){.schedule = schedule, .rule = rule};
}

/** The pattern of its schedule: reduce has that of allgather, reducev that of
 * alltoall. */
static inline ctn_pattern_t
ctn_neighbor_pattern(const ctn_neighbor_collective_t *collective)
{
    return collective->call->send == CTN_SIDE_ONE ? CTN_PATTERN_ALLGATHER
                                                  : CTN_PATTERN_ALLTOALL;
}

/** Whether received blocks are reduced. */
static inline bool
ctn_neighbor_reduces(const ctn_neighbor_collective_t *collective)
{
    return ctn_has_trait(collective->call, CTN_REDUCES);
}

/** Whether edges may carry different lengths. */
static inline bool
ctn_neighbor_varies(const ctn_neighbor_collective_t *collective)
{
    return ctn_has_lengths(collective->call);
}

/** A block that does not go to the receive buffer: a block to be forwarded, or
 * an operand of a reduction. */
typedef struct ctn_pending_block {
    ctn_span_t span; /* where it lies; if `here` */
    uint32_t from;   /* message in execution->receive that it lies in, or
                        CTN_NO_MESSAGE */
    bool here;       /* it has arrived */
    bool mismatch;   /* its length differs from what this rank, or a rank that
                        forwarded it, expects */
} ctn_pending_block_t;

/** Flag of a length in the header of a message: `mismatch` of the block. */
#define CTN_LENGTH_MISMATCH (UINT64_C(1) << 63)

#define CTN_NO_MESSAGE UINT32_MAX
#define CTN_NO_OPERAND UINT32_MAX

/** A message of the schedule that this rank sends; `count` is its number of
 * blocks. If blocks may differ in length, a message of a schedule that forwards
 * begins with a header: the lengths of its blocks. */
typedef struct ctn_outgoing {
    ctn_link_send_handle_t sending;
    ctn_span_t *block; /* [count]; in schedules that forward, block[-1] is the
                          span of the header */
    uint64_t *length;  /* [count]; in schedules that forward: the header */
    size_t bytes;      /* without the header */
    bool late;         /* it forwards blocks */
} ctn_outgoing_t;

/** A message of the schedule that this rank receives. */
typedef struct ctn_incoming {
    ctn_link_receive_handle_t receiving;
    ctn_span_t *block; /* [count]: where its blocks go */
    size_t bytes;      /* expected, unless lengths vary and blocks are forwarded
                        */
    bool stays;        /* it has pending blocks */
} ctn_incoming_t;

/** Memory that an operation takes until it ends. */
typedef struct ctn_execution_memory {
    struct ctn_execution_memory *next;
    size_t taken; /* bytes of this struct with its data */
    _Alignas(64) unsigned char data[];
} ctn_execution_memory_t;

/** Execution: the memory of one operation. It belongs to a schedule, and later
 * operations with that schedule reuse it. */
typedef struct ctn_execution {
    struct ctn_execution *next; /* in neighborhood->kept */
    ctn_region_t region;        /* its memory, with the arrays */
    const ctn_schedule_t *schedule;
    bool remote;             /* some of its links lead to other nodes */
    ctn_outgoing_t *send;    /* [schedule->sends] */
    ctn_incoming_t *receive; /* [schedule->receives] */
    ctn_span_t *local_copy;  /* [schedule->local_copies][2]: from, to */
    uint32_t *open_send;    /* [sends_open]: indices in `send` of messages under
                               way */
    uint32_t *open_receive; /* [receives_open]: indices in `receive` */
    ctn_pending_block_t *pending; /* [schedule->staged], then [sources] */
    uint32_t *open_aggregate; /* [aggregates_open]: indices in aggregates->in of
                                 those that have not arrived */
    /* From here on: state of one start. */
    uint32_t round; /* the next round to begin */
    uint32_t next_send, next_receive, next_local_copy; /* not begun yet */
    uint32_t sends_open, receives_open, aggregates_open;
    uint64_t use;    /* number of the aggregates; see schedule/aggregate.h */
    uint32_t folded; /* operands 0 to folded - 1 have been taken */
    uint32_t first;  /* the only operand with data among these, not yet in the
                        result; or CTN_NO_OPERAND */
    unsigned char *result; /* memory of the result; NULL: not chosen yet. If it
                              is not the receive buffer, it is in `kept` */
    ctn_execution_memory_t *kept; /* list */
    catena_status_t status;       /* that the operation ends with */
} ctn_execution_t;

/** Exchange: the operation of a validated call; its arguments and state. */
typedef struct ctn_exchange {
    _Alignas(64) ctn_inline_exchange_t inlined; /* if it has a `path` */
    catena_neighborhood_t *neighborhood; /* of a persistent request: its own
                                            copy, see call/persistent.c */
    ctn_inline_path_t *path; /* the inline path that it may take, or NULL */
    bool went_inline;        /* this start took the inline path */
    /* Only of a persistent operation. */
    catena_neighborhood_t *of; /* the caller's neighborhood */
    bool rests; /* the last start went inline, so the next one may leave the
                   execution as it is */
    /* The arguments. */
    const ctn_neighbor_collective_t *collective;
    const ctn_rule_t *rule; /* that selected the schedule, or NULL */
    bool blocking;          /* the call is */
    ctn_blocks_t send;      /* by target, or one for all */
    ctn_blocks_t recv;      /* by source, or the result */
    ctn_reducer_t by;       /* of a reduction: operation and type */
    bool in_place;
    /* What ctn_neighbor_hold holds: the types in `held`, and by.op if
     * `holds_op`. */
    const ctn_type_t **held;
    size_t held_count;
    bool holds_op;
    bool headers; /* messages begin with the lengths of their blocks */
    ctn_execution_t *execution;
} ctn_exchange_t;

static inline ctn_execution_t *ctn_execution_of(ctn_op_t *op)
{
    return ((ctn_exchange_t *)ctn_op_state(op))->execution;
}

/* The phases of an exchange; some have other ones behind them. */
ctn_step_t ctn_exchange_begin(ctn_op_t *op);
ctn_step_t ctn_exchange_inlined(ctn_op_t *op);
ctn_step_t ctn_exchange_rounds(ctn_op_t *op); /* call/executor.c */
ctn_step_t ctn_exchange_finalize(ctn_op_t *op);
/* clang-format off */
#define CTN_EXCHANGE_PHASES                                                    \
    {"begin", ctn_exchange_begin}, {"short messages", ctn_exchange_inlined},   \
    {"exchange", ctn_exchange_rounds}, {"finalize", ctn_exchange_finalize}
/* clang-format on */
/* Indices: the phase that receives inline messages, and the end of these. */
enum { CTN_EXCHANGE_SHORT = 1, CTN_EXCHANGE_END = 4 };
extern const ctn_phase_t ctn_exchange_phases[];
/* For the ctn_algorithm_t of a collective. */
void ctn_exchange_finish(ctn_op_t *op);
void ctn_exchange_release(ctn_op_t *op);
#define CTN_EXCHANGE_ALGORITHM(its_name)                                       \
    {                                                                          \
        .name = its_name, .state_bytes = sizeof(ctn_exchange_t),               \
        .phases = ctn_exchange_phases, .finish = ctn_exchange_finish,          \
        .release = ctn_exchange_release                                        \
    }

/** Takes an execution for a call whose arguments are set, and sets what stays
 * the same over all starts. */
catena_status_t ctn_exchange_prepare(ctn_exchange_t *x);
/** The same, for this schedule. */
catena_status_t ctn_exchange_prepare_for(ctn_exchange_t *x,
                                         const ctn_schedule_t *schedule);
/** The schedule that the call is to use; sets x->rule. */
const ctn_schedule_t *ctn_exchange_choose(ctn_exchange_t *x);

/** Sets the buffers of a prepared call. */
void ctn_exchange_set_buffers(ctn_exchange_t *x, unsigned char *send,
                              unsigned char *recv);

/** call/executor.c: begins to receive message receive[m] of the schedule. */
catena_status_t ctn_exchange_open_receive(ctn_op_t *op, uint32_t m);

/* ---- call/arguments.c ---- */

/** Checks the arguments of a call and describes them as blocks.
 * @param[in,out] x all zeros, then its arguments are set
 * @return CATENA_OK or ERR_ARG, which is logged */
catena_status_t
ctn_neighbor_validate(const ctn_neighbor_collective_t *collective,
                      const ctn_arguments_t *args,
                      catena_neighborhood_t *neighborhood,
                      ctn_recorded_call_t *record, ctn_exchange_t *x);

/** Holds the datatypes and the reduction operation of a call until its request
 * is released. */
catena_status_t ctn_neighbor_hold(ctn_exchange_t *x);

/** call/persistent.c: gives a persistent request links of its own, and an
 * execution. The call is validated. A detached operation of the neighborhood
 * connects the links, so requests match in the order of initialization; a start
 * waits for that operation. If there is no memory, all operations are aborted.
 */
catena_status_t ctn_neighbor_own_links(ctn_op_t *op);

/* ---- call/execution_memory.c: memory ---- */

/** An execution of the schedule from neighborhood->kept, or a new one. NULL: no
 * memory. */
ctn_execution_t *ctn_execution_take(catena_neighborhood_t *neighborhood,
                                    const ctn_schedule_t *schedule);
/** NULL: no effect. */
void ctn_execution_free(ctn_execution_t *execution);
/** Puts an execution into neighborhood->kept. */
void ctn_execution_give(catena_neighborhood_t *neighborhood,
                        ctn_execution_t *execution);

/* ---- call/arrival.c: messages that have arrived ---- */

/** Processes message receive[m] of the schedule, which has arrived. */
catena_status_t ctn_arrive(ctn_op_t *op, uint32_t m);
/** Makes local_copy[index] of the schedule. */
catena_status_t ctn_make_local_copy(ctn_op_t *op, uint32_t index);
/** Copies a block of this rank from contiguous memory to its target, or reports
 * a length mismatch. If the block is forwarded, too, the ranks behind learn of
 * the mismatch.
 * @param block    the target
 * @param mismatch a rank that forwarded the block found a length mismatch */
catena_status_t ctn_take_block(ctn_op_t *op, uint32_t source,
                               const ctn_span_t *block,
                               const unsigned char *data, size_t bytes,
                               bool mismatch);

/** The entry in execution->pending of a staged block or of a block of the
 * receive buffer. */
static inline ctn_pending_block_t *
ctn_pending_block_at(const ctn_execution_t *execution, ctn_block_ref_t block)
{
    uint32_t before =
        block.of == CTN_BLOCK_RECV ? execution->schedule->staged : 0;
    return &execution->pending[before + block.index];
}

/** The pending block that a reference names. NULL: the block lies in a buffer
 * of the caller. */
static inline ctn_pending_block_t *ctn_pending_block_of(const ctn_exchange_t *x,
                                                        ctn_block_ref_t block)
{
    return block.of == CTN_BLOCK_STAGED || (block.of == CTN_BLOCK_RECV &&
                                            ctn_neighbor_reduces(x->collective))
               ? ctn_pending_block_at(x->execution, block)
               : NULL;
}

/** Memory until the operation ends. NULL: there is none. */
unsigned char *ctn_keep(ctn_op_t *op, size_t bytes);
/** Releases the message that an operand lies in, if it lies in one. */
catena_status_t ctn_operand_used(ctn_op_t *op,
                                 const ctn_pending_block_t *operand);

/* ---- call/operands.c: reductions ---- */

/** Reduces the operands that have arrived, up to the first one that is missing.
 */
catena_status_t ctn_fold_arrived(ctn_op_t *op);

#endif
