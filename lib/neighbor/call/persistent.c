/* Persistent requests. Ranks may start several requests in any order, so each
 * request has links of its own: a copy of each link of its schedule, with slots
 * and counts of its own, and a sequence of its own.
 *
 * A handshake connects these links: a message along each link of the schedule
 * tells the receiver where the link control of the sender is, and the receiver
 * writes there where its slots are. When the request is freed, another
 * handshake closes them, by messages along the links themselves: after its
 * message the sender, and after its answer the receiver, writes nothing more to
 * the other end. Then the memory is released. So no rank waits for a rank that
 * it has no link to. Handshakes are detached operations; that of the connection
 * belongs to the neighborhood's sequence, that of the freeing to the request's.
 */

#include "exec/deaths.h"
#include "neighbor/call/executor.h"

#include <stdlib.h>
#include <string.h>

#include "core/cache_line.h"
#include "neighbor/link/protocol.h"
#include "neighbor/schedule/builder.h"

/** The links of a persistent request, and the neighborhood that it runs on. */
typedef struct own_links {
    catena_neighborhood_t neighborhood; /* first: a copy of `of`, with these
                                           links and a sequence of its own */
    catena_neighborhood_t *of;          /* the caller's neighborhood */
    ctn_op_t *request;                  /* NULL: it has been freed */
    const ctn_schedule_t *original;     /* the schedule of `of` */
    ctn_schedule_t schedule;            /* a copy of it, with these links */
    ctn_schedule_t *hello;              /* that of a handshake */
    /* Offsets of the link controls, which are the messages of a handshake. */
    uint64_t *sent; /* [outs] */
    uint64_t *came; /* [ins] */
    void *memory;   /* slots, link controls and eager buffers, in the heap */
} own_links_t;

/** State of a handshake. */
typedef struct handshake {
    ctn_exchange_t x; /* first: the phases of an exchange run on it */
    own_links_t *own;
    uint64_t state; /* of the link controls, when it is over */
} handshake_t;

/* Eager buffers are as long as those of the original, halved until those of all
 * links of a request fit this. */
#define EAGER_ALL ((size_t)256 << 10)

static uint64_t offset_of(const own_links_t *own, const void *memory)
{
    return ctn_link_offset(own->neighborhood.exec, memory);
}

/* ---- creation ---- */

/** Copies the link ends of the original: only their peers and the lengths of
 * eager buffers. False: no memory. */
static bool copy_links(own_links_t *own)
{
    const ctn_schedule_t *original = own->original;
    ctn_schedule_t *schedule = &own->schedule;
    schedule->out = calloc(original->outs + 1u, sizeof(*schedule->out));
    schedule->in = calloc(original->ins + 1u, sizeof(*schedule->in));
    if (schedule->out == NULL || schedule->in == NULL) {
        return false;
    }
    for (uint32_t o = 0; o < original->outs; o++) {
        schedule->out[o].peer = original->out[o].peer;
    }
    for (uint32_t i = 0; i < original->ins; i++) {
        const ctn_link_in_t *in = &original->in[i];
        schedule->in[i].peer = in->peer;
        uint32_t most = in->eager_bytes;
        if (in->peer.local) { /* there may be many requests: no rotation */
            size_t local = ctn_link_most_eager(true, true);
            most = most < local ? most : (uint32_t)local;
        }
        schedule->in[i].eager_bytes =
            ctn_link_eager_bytes(original->ins, most, EAGER_ALL);
        schedule->in[i].reverse =
            in->reverse != NULL ? &schedule->out[in->reverse - original->out]
                                : NULL;
    }
    return true;
}

/** Takes the memory of the links from the heap. False: there is none. */
static bool take_memory(own_links_t *own)
{
    ctn_schedule_t *schedule = &own->schedule;
    own->memory = ctn_link_take(own->of->exec, schedule->out, schedule->outs,
                                schedule->in, schedule->ins,
                                own->neighborhood.sequence.started);
    return own->memory != NULL;
}

/** Makes the schedule of handshakes: one round, with a message along each link.
 * False: no memory. */
static bool make_hello(own_links_t *own)
{
    uint32_t outs = own->original->outs;
    uint32_t ins = own->original->ins;
    ctn_schedule_builder_t builder = {.neighborhood = own->of, .rounds = 1};
    own->sent = calloc((size_t)outs + ins + 1, sizeof(*own->sent));
    if (own->sent == NULL) {
        return false;
    }
    own->came = own->sent + outs;
    for (uint32_t o = 0; o < outs; o++) {
        own->sent[o] = offset_of(own, own->schedule.out[o].control);
        ctn_schedule_builder_message(&builder, CTN_SENDS, o, 0);
        ctn_schedule_builder_block(&builder,
                                   (ctn_block_ref_t){CTN_BLOCK_SEND, o}, 0);
    }
    for (uint32_t i = 0; i < ins; i++) {
        ctn_schedule_builder_message(&builder, CTN_RECEIVES, i, 0);
        ctn_schedule_builder_block(&builder,
                                   (ctn_block_ref_t){CTN_BLOCK_RECV, i}, 0);
    }
    own->hello = ctn_schedule_builder_pack(&builder);
    if (own->hello != NULL) {
        own->hello->algorithm = own->original->algorithm;
        own->hello->outs = outs;
        own->hello->ins = ins;
        own->hello->is_hello = true;
    }
    return own->hello != NULL;
}

/** Copies the caller's neighborhood and the original schedule, and sets what
 * differs. */
static void set_up(own_links_t *own)
{
    catena_neighborhood_t *copy = &own->neighborhood;
    const ctn_schedule_t *original = own->original;
    *copy = *own->of;
    copy->path = NULL;
    copy->ran = NULL;
    copy->begun = 0;
    copy->kept = NULL;
    copy->memory = NULL;
    memset(copy->schedule, 0, sizeof(copy->schedule));
    copy->schedule[original->algorithm][original->pattern] = &own->schedule;
    ctn_sequence_set(&copy->sequence, NULL, CTN_LINK_GENERATIONS,
                     CTN_LINK_FLIGHT);
    copy->sequence.without_generations = true;
    copy->sequence.brittle = true;
    copy->sequence.failure = own->of->sequence.failure;
    copy->sequence.flight = 0; /* until the links are connected */
    own->schedule = *original;
    own->schedule.copy_of = original;
    own->schedule.uniform = NULL;
    own->schedule.aggregates = NULL;
    own->schedule.memory = NULL;
    own->schedule.out = NULL; /* set by copy_links */
    own->schedule.in = NULL;
}

/** Frees the links of a request. No rank puts into them any more. */
static void release(own_links_t *own)
{
    ctn_neighbor_forget(&own->neighborhood);
    ctn_failure_free(own->neighborhood.exec, own->neighborhood.sequence.failure,
                     own->memory);
    own->neighborhood.exec->requests--;
    ctn_refcount_put(own->neighborhood.users);
    ctn_schedule_free(own->hello);
    free(own->sent);
    free(own->schedule.out);
    free(own->schedule.in);
    free(own);
}

/* ---- handshakes: the phases of an exchange with the schedule own->hello, then
 * answer and await_answers ---- */

/** Receiver: the message of each sender has arrived; tells it where it may
 * write, or that the receiver writes nothing more to it. */
static ctn_step_t answer(ctn_op_t *op)
{
    const handshake_t *handshake = ctn_op_state(op);
    const own_links_t *own = handshake->own;
    for (uint32_t i = 0; i < own->schedule.ins; i++) {
        ctn_link_in_t *in = &own->schedule.in[i];
        const uint64_t ends[] = {offset_of(own, in->slots),
                                 offset_of(own, in->eager), in->eager_bytes};
        in->control = own->came[i];
        catena_status_t status = ctn_link_reach(op->exec, &in->peer);
        if (status == CATENA_OK) {
            status = ctn_put_signal(
                in->peer.endpoint, ends, sizeof(ends),
                in->control + offsetof(ctn_link_control_t, slots),
                in->control + offsetof(ctn_link_control_t, state),
                handshake->state, &op->pending);
        }
        if (status != CATENA_OK) {
            return ctn_op_fail(op, status);
        }
    }
    return CTN_STEP_NEXT;
}

/** Sender: waits for the answers of all receivers. */
static ctn_step_t await_answers(ctn_op_t *op)
{
    const handshake_t *handshake = ctn_op_state(op);
    const own_links_t *own = handshake->own;
    for (uint32_t o = 0; o < own->schedule.outs; o++) {
        ctn_link_out_t *out = &own->schedule.out[o];
        const ctn_link_control_t *control = out->control;
        if (ctn_word_load(&control->state) != handshake->state) {
            op->waits_for = out->peer.rank;
            return ctn_link_wait(op, &out->peer);
        }
        out->slots = control->slots;
        out->eager = control->eager;
        out->eager_bytes = (uint32_t)control->eager_bytes;
    }
    return CTN_STEP_NEXT;
}

static const ctn_phase_t phases[] = {CTN_EXCHANGE_PHASES,
                                     {"answer", answer},
                                     {"await answers", await_answers},
                                     {NULL, NULL}};

static const ctn_description_t handshake_call = {.name = "neighbor_request",
                                                 .send = CTN_SIDE_UNIFORM,
                                                 .recv = CTN_SIDE_UNIFORM};

/** Creates a handshake along the links of a schedule. NULL: no memory.
 * @param state of the link controls, when it is over */
static ctn_op_t *create_handshake(const ctn_neighbor_collective_t *kind,
                                  own_links_t *own,
                                  catena_neighborhood_t *neighborhood,
                                  const ctn_schedule_t *links, uint64_t state)
{
    ctn_op_t *op = ctn_op_create(neighborhood->exec, &kind->algorithm,
                                 &neighborhood->sequence);
    if (op == NULL) {
        return NULL;
    }
    const ctn_blocks_t offsets = {.type = ctn_type_fixed[CTN_FIXED_byte],
                                  .bytes = sizeof(*own->sent),
                                  .step = sizeof(*own->sent)};
    handshake_t *handshake = ctn_op_state(op);
    handshake->own = own;
    handshake->state = state;
    handshake->x.collective = kind;
    handshake->x.neighborhood = neighborhood;
    handshake->x.send = handshake->x.recv = offsets;
    handshake->x.send.base = (unsigned char *)own->sent;
    handshake->x.recv.base = (unsigned char *)own->came;
    own->hello->out = links->out;
    own->hello->in = links->in;
    op->persistent = true; /* so its execution is freed with it: the schedule
                              of that is freed, too */
    if (ctn_exchange_prepare_for(&handshake->x, own->hello) != CATENA_OK) {
        ctn_exchange_release(op);
        handshake->own = NULL; /* the links are the caller's */
        ctn_op_release(op);
        return NULL;
    }
    return op;
}

/* ---- freeing ---- */

/** Whether the freeing may begin: no other operation is under way. */
static bool is_over(const ctn_op_t *op)
{
    return ctn_sequence_under_way(op->sequence) == 1;
}

static void give_back(ctn_op_t *op)
{
    own_links_t *own = ((handshake_t *)ctn_op_state(op))->own;
    if (own != NULL) { /* else see create_handshake */
        ctn_exchange_release(op);
        release(own);
    }
}

/* No `finish`: after its answer a receiver must not even report what is
 * complete. */
static const ctn_neighbor_collective_t closing = {
    .algorithm = {.name = "free of a neighbor request",
                  .state_bytes = sizeof(handshake_t),
                  .phases = phases,
                  .release = give_back,
                  .ready = is_over},
    .call = &handshake_call,
};

/** Starts the operation that frees the links. */
static void close_links(own_links_t *own)
{
    ctn_exec_t *exec = own->neighborhood.exec;
    ctn_op_t *op = create_handshake(&closing, own, &own->neighborhood,
                                    &own->schedule, CTN_LINK_CLOSED);
    if (op == NULL) {
        /* First: neighbors may still put into the links, which stay then. */
        (void)ctn_exec_give_up(exec, own->neighborhood.sequence.failure,
                               CATENA_ERR_NO_MEMORY);
        release(own);
        return;
    }
    ctn_op_start_background(op, true);
}

/* ---- connecting ---- */

/** Prepares the request, and lets its first start begin. Other ranks depend on
 * that start. */
static void finish(ctn_op_t *op)
{
    handshake_t *handshake = ctn_op_state(op);
    own_links_t *own = handshake->own;
    catena_status_t status = op->status;
    ctn_op_t *request = own->request;
    ctn_exchange_finish(op);
    if (request != NULL) {
        ctn_exchange_t *x = ctn_op_state(request);
        if (status == CATENA_OK) {
            status = ctn_exchange_prepare_for(x, &own->schedule);
        }
        if (status == CATENA_OK) {
            ctn_inline_request(request);
        }
    }
    if (status != CATENA_OK) {
        (void)ctn_op_give_up(op, status);
    }
    ctn_sequence_open(&own->neighborhood.sequence, CTN_LINK_FLIGHT);
    if (request == NULL) { /* it was freed meanwhile */
        /* The links may be closed and freed at once, before this operation. */
        ctn_exchange_release(op);
        handshake->own = NULL;
        close_links(own);
    }
}

/** The context may end before the links are connected; then the links of a
 * request that was freed meanwhile are released here. */
static void release_connecting(ctn_op_t *op)
{
    own_links_t *own = ((handshake_t *)ctn_op_state(op))->own;
    if (own == NULL) {
        return; /* see finish and create_handshake */
    }
    bool left = own->request == NULL && own->neighborhood.sequence.flight == 0;
    ctn_exchange_release(op);
    if (left) {
        release(own);
    }
}

static const ctn_neighbor_collective_t connecting = {
    .algorithm = {.name = "neighbor request",
                  .state_bytes = sizeof(handshake_t),
                  .phases = phases,
                  .finish = finish,
                  .release = release_connecting},
    .call = &handshake_call,
};

/** Starts the operation that connects the links. False: no memory. */
static bool connect(own_links_t *own)
{
    ctn_op_t *op = create_handshake(&connecting, own, own->of, own->original,
                                    CTN_LINK_CONNECTED);
    if (op != NULL) {
        ctn_op_start_detached(op);
    }
    return op != NULL;
}

/** op->dispose of the request: frees the links when they are connected. */
static void dispose(void *owned)
{
    own_links_t *own = owned;
    own->request = NULL;
    if (own->neighborhood.sequence.flight > 0) {
        close_links(own);
    }
}

/* ---- the request ---- */

/** The schedule for a call. Not one with aggregates, which are numbered by the
 * operations of the neighborhood: instead the general one of that algorithm. */
static const ctn_schedule_t *schedule_for(ctn_exchange_t *x)
{
    const ctn_schedule_t *chosen = ctn_exchange_choose(x);
    return x->neighborhood->schedule[chosen->algorithm][chosen->pattern];
}

catena_status_t ctn_neighbor_own_links(ctn_op_t *op)
{
    ctn_exchange_t *x = ctn_op_state(op);
    own_links_t *own = ctn_lines_alloc(sizeof(*own));
    if (own == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    own->of = x->neighborhood;
    own->request = op;
    own->original = schedule_for(x);
    set_up(own);
    ctn_refcount_get(own->of->users);
    op->exec->requests++;
    x->of = own->of;
    x->neighborhood = &own->neighborhood;
    op->sequence = &own->neighborhood.sequence;
    if (!copy_links(own) || !take_memory(own) || !make_hello(own) ||
        !connect(own)) {
        release(own);
        return CATENA_ERR_NO_MEMORY;
    }
    op->owned = own;
    op->dispose = dispose;
    return CATENA_OK;
}
