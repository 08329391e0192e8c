#ifndef CTN_NEIGHBOR_CALL_EXECUTOR_H
#define CTN_NEIGHBOR_CALL_EXECUTOR_H

#include "neighbor/call/inline_small.h"
#include "neighbor/neighborhood.h"

/* The executor: one call of an operation on neighbors, as a plan says. Data
 * flow from blocks to messages (call/executor.c), and from messages to blocks,
 * to the result of a reduction, or to further messages (call/arrival.c,
 * operands.c). */

/** The blocks of a side. */
typedef enum ctn_side_shape {
    CTN_SIDE_ONE,     /* one for all neighbors, or the result */
    CTN_SIDE_UNIFORM, /* one for each, all of one length */
    CTN_SIDE_VECTOR   /* of lengths of their own */
} ctn_side_shape_t;

/** One of the operations. */
typedef struct ctn_neighbor_collective {
    ctn_algorithm_t algorithm; /* CTN_EXCHANGE_ALGORITHM(its name) */
    unsigned operation;        /* CATENA_NEIGHBOR_... */
    ctn_side_shape_t send, recv;
    bool typed; /* vectors have a type for each block */
    bool may_be_in_place;
} ctn_neighbor_collective_t;

static inline ctn_pattern_t
ctn_neighbor_pattern(const ctn_neighbor_collective_t *collective)
{
    return collective->send == CTN_SIDE_ONE ? CTN_PATTERN_GATHER
                                            : CTN_PATTERN_ALLTOALL;
}

/** Whether what is received is combined. */
static inline bool
ctn_neighbor_reduces(const ctn_neighbor_collective_t *collective)
{
    return collective->recv == CTN_SIDE_ONE;
}

/** Whether edges may carry different lengths. */
static inline bool
ctn_neighbor_varies(const ctn_neighbor_collective_t *collective)
{
    return collective->send == CTN_SIDE_VECTOR ||
           collective->recv == CTN_SIDE_VECTOR;
}

/** A block that is here, but in memory that a message lies in: one to be passed
 * on, or an operand of a reduction. */
typedef struct ctn_pending_block {
    ctn_span_t span;
    uint32_t from;    /* message in run->receive, or CTN_NO_MESSAGE */
    uint32_t readers; /* messages and transfers made of it; the plan's */
    bool here;
    bool mismatch; /* an operand, or a block to be passed on, that was sent in
                   another length than a rank on its way wants it */
} ctn_pending_block_t;

/** In the header of a message: a length, of a block that is unfit. */
#define CTN_LENGTH_MISMATCH (UINT64_C(1) << 63)

typedef struct ctn_inline_path ctn_inline_path_t;

#define CTN_NO_MESSAGE UINT32_MAX
#define CTN_NO_OPERAND UINT32_MAX

typedef struct ctn_outgoing {
    ctn_link_send_handle_t sending;
    ctn_span_t *block; /* [count], after one for the header in plans that pass
                         on */
    uint64_t *length;  /* [count], of those plans: the header */
    size_t bytes;      /* without the header */
    bool late;         /* made of items */
} ctn_outgoing_t;

typedef struct ctn_incoming {
    ctn_link_receive_handle_t receiving;
    ctn_span_t *block;
    size_t bytes;  /* expected; of what is passed on nothing is known */
    uint32_t uses; /* of it, that have not been made yet */
    bool ended;    /* all have, but the network may still read it */
} ctn_incoming_t;

/** What replaces a block, or a result, that is still to be sent. */
typedef struct ctn_substitute {
    struct ctn_substitute *next;
    ctn_span_t target;
    size_t taken; /* bytes of memory */
    _Alignas(64) unsigned char data[];
} ctn_substitute_t;

/** Memory of one call. It belongs to a plan and is used again for others. */
typedef struct ctn_execution {
    struct ctn_execution *next; /* of those kept */
    const ctn_schedule_t *schedule;
    bool remote;             /* some of its links lead to other nodes */
    ctn_outgoing_t *send;    /* [plan->sends] */
    ctn_incoming_t *receive; /* [plan->receives] */
    ctn_span_t *local_copy;  /* [plan->transfers] from, to */
    uint32_t *open_send;     /* those under way */
    uint32_t *open_receive;
    ctn_pending_block_t *pending; /* [plan->stages], then [sources] */
    uint32_t *still_sent; /* [targets] in place: how often each block is still
                             to be read */
    uint32_t *open_aggregate; /* those that have not come */
    /* From here on: of one start. */
    uint32_t round;
    uint32_t next_send, next_receive, next_local_copy;
    uint32_t sends_open, receives_open, aggregates_open;
    uint64_t use;    /* of the bundles' places */
    uint32_t ended;  /* messages with `ended` */
    uint32_t folded; /* operands 0 to folded - 1 are in the result, */
    uint32_t first;  /* or are this one alone, or CTN_NO_OPERAND */
    unsigned char *result;
    ctn_substitute_t *substitute;
    catena_status_t status; /* what it is to end with */
} ctn_execution_t;

/** A call, as the entry point understood it; the state of its operation. */
typedef struct ctn_exchange {
    /* Two cache lines that are all of this that requests touch whose blocks are
     * small, all alike, and lie together. */
    _Alignas(64) ctn_inline_small_t small;
    catena_neighborhood_t *neighborhood;
    uint64_t missing;               /* messages, of those that `went_inline` */
    const ctn_schedule_t *schedule; /* that its run is of, or a copy */
    const ctn_link_in_t *in;        /* the links of its run's plan */
    catena_neighborhood_t *of;      /* of a request: what it was made for */
    bool rests; /* its run is as a start leaves it that went quick */
    bool sole;  /* it was started when nothing else was under way */
    const ctn_neighbor_collective_t *collective;
    ctn_blocks_t send; /* by target, or one for all */
    ctn_blocks_t recv; /* by source, or the result */
    ctn_reducer_t by;
    bool in_place;
    /* Kept from being freed: types in `held`, and by.op if `holds_op`. */
    catena_datatype_t *held;
    size_t held_count;
    bool holds_op;
    bool headers; /* messages begin with the lengths of their parts */
    ctn_execution_t *execution;
    ctn_inline_path_t *path; /* what its messages may go through, or NULL */
    bool went_inline;        /* they do, this time */
    bool zcopy; /* messages that go so may be read where they are: from here
                   on in the own arena; and so many still are: */
    uint64_t zcopy_offset;
    uint64_t zcopied;
} ctn_exchange_t;

/* Phases of an exchange. */
enum { CTN_EXCHANGE_SHORT = 1, CTN_EXCHANGE_END = 4 };
extern const ctn_phase_t ctn_exchange_phases[];
void ctn_exchange_finish(ctn_op_t *op);
void ctn_exchange_release(ctn_op_t *op);
#define CTN_EXCHANGE_ALGORITHM(its_name)                                       \
    {                                                                          \
        .name = its_name, .state_bytes = sizeof(ctn_exchange_t),               \
        .phases = ctn_exchange_phases, .finish = ctn_exchange_finish,          \
        .release = ctn_exchange_release                                        \
    }

/** Take memory for a call whose arguments are set, and fill in what stays the
 * same from start to start. */
catena_status_t ctn_exchange_prepare(ctn_exchange_t *x);
/** The same, for this plan. */
catena_status_t ctn_exchange_prepare_for(ctn_exchange_t *x,
                                         const ctn_schedule_t *schedule);
/** The plan that it would take. */
const ctn_schedule_t *ctn_exchange_choose(const ctn_exchange_t *x);
/** Run a prepared operation to its end, and give it back: a blocking call. */
catena_status_t ctn_exchange_run(ctn_op_t *op);

/** Run the rest of a blocking call that is number `seq` and alone: to receive
 * these messages. */
catena_status_t ctn_exchange_rest(const ctn_exchange_t *x, uint64_t seq,
                                  uint64_t missing);

/* ---- call/executor.c: rounds ---- */

/** A phase: all rounds of a plan. */
ctn_step_t ctn_exchange_rounds(ctn_op_t *op);
/** Begin to wait for receive[m]. */
catena_status_t ctn_exchange_open_receive(ctn_op_t *op, uint32_t m);

/* ---- call/inline.c ---- */

/** A short blocking call that is alone. False: nothing has been done. */
bool ctn_inline_call(const ctn_exchange_t *x, catena_status_t *status);

/** A request that may always go so: set op->start and op->wait. */
void ctn_inline_request(ctn_op_t *op);

/* ---- call/inline_small.c ---- */

struct ctn_neighbor_call;

/** The same for blocks of at most CTN_NEIGHBOR_INLINE_BYTES bytes, given as
 * before. */
bool ctn_inline_small_call(const struct ctn_neighbor_call *call,
                           catena_status_t *status);

/** The same for one of at most CTN_NEIGHBOR_INLINE_BYTES bytes, whose x->small
 * is set but for the buffers. */
void ctn_inline_small_request(ctn_op_t *op);

/* ---- call/execution_memory.c: memory ---- */

/** One kept with the neighborhood, or a new one; NULL: no memory. */
ctn_execution_t *ctn_execution_take(catena_neighborhood_t *neighborhood,
                                    const ctn_schedule_t *schedule);
void ctn_execution_give(catena_neighborhood_t *neighborhood,
                        ctn_execution_t *execution);

/* ---- call/arrival.c: what becomes of a message that is here ---- */

/** Take receive[m], which is here, out of its link. */
catena_status_t ctn_arrive(ctn_op_t *op, uint32_t m);
/** Make transfer[t]: copy a block that is here already. */
catena_status_t ctn_make_local_copy(ctn_op_t *op, uint32_t t);
/** A block of this rank's is here, as plain memory. Where others wait for it
 * whom it goes on to, they are told if it does not fit.
 * @param part  where it goes
 * @param unfit it was found on its way to have another length than it should */
catena_status_t ctn_take_block(ctn_op_t *op, uint32_t source,
                               const ctn_span_t *block,
                               const unsigned char *data, size_t bytes,
                               bool mismatch);
/** A message or a transfer that was made of `part` has been made. */
catena_status_t ctn_block_was_read(ctn_op_t *op, ctn_block_ref_t block);
/** Give back messages that the network has left. */
catena_status_t ctn_give_ended(ctn_op_t *op);

/** What is known of a part that is not of the send buffer. */
static inline ctn_pending_block_t *
ctn_pending_block_at(const ctn_execution_t *execution, ctn_block_ref_t block)
{
    uint32_t before =
        block.of == CTN_BLOCK_RECV ? execution->schedule->staged : 0;
    return &execution->pending[before + block.index];
}

/** The item that a part is; NULL: it lies in a buffer of the caller. */
static inline ctn_pending_block_t *ctn_pending_block_of(const ctn_exchange_t *x,
                                                        ctn_block_ref_t block)
{
    return block.of == CTN_BLOCK_STAGED || (block.of == CTN_BLOCK_RECV &&
                                            ctn_neighbor_reduces(x->collective))
               ? ctn_pending_block_at(x->execution, block)
               : NULL;
}

/** Memory for what goes to `target` when nothing is to be read there any more.
 * NULL: none. */
ctn_substitute_t *ctn_substitute(ctn_op_t *op, ctn_span_t target);
/** Let go of an item's message for one use. */
catena_status_t ctn_pending_block_used(ctn_op_t *op,
                                       const ctn_pending_block_t *pending);

/* ---- operands.c: reductions ---- */

/** Combine those operands whose turn it is. */
catena_status_t ctn_fold_arrived(ctn_op_t *op);

#endif
