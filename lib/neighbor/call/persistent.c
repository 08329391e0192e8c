/* Persistent requests. Ranks may start several requests in any order, so each
 * request has links of its own: a copy of each link of its schedule, with slots
 * and counts of its own, and a sequence of its own.
 *
 * A detached operation connects these links through the links of the schedule,
 * with one message (hello_t) along each. Each end of a link has a cache line of
 * words (end_words_t) that the other end writes. The hello tells the receiver
 * where the sender's link control and words are; the receiver then writes where
 * its slots and words are into the words of the sender. When the request is
 * freed, both ends of a link write to each other that they send nothing more;
 * then the memory is released. So no rank waits for a rank that it has no link
 * to. */

#include "neighbor/call/persistent.h"

#include <stdlib.h>
#include <string.h>

#include "core/cache_line.h"
#include "neighbor/link/protocol.h"

/** The words at one end of a link that the other end writes; in the own arena.
 * All but the first and `closed` are offsets and lengths at the receiver, which
 * writes them. */
typedef struct end_words {
    uint64_t word; /* not 0: the next four members are set */
    uint64_t slots;
    uint64_t eager;
    uint64_t eager_bytes;
    uint64_t words;  /* the end_words_t of the receiver */
    uint64_t closed; /* not 0: the other end sends nothing more */
    uint64_t unused[2];
} end_words_t;

_Static_assert(sizeof(end_words_t) == 64, "a cache line");

/** The message along a link: offsets in the sender's arena. */
typedef struct hello {
    uint64_t control; /* the link control */
    uint64_t words;   /* the end_words_t */
} hello_t;

/** The links of a persistent request, and the neighborhood that it runs on. */
typedef struct own_links {
    catena_neighborhood_t neighborhood; /* first: a copy of `of`, with these
                                           links and a sequence of its own */
    catena_neighborhood_t *of;          /* the caller's neighborhood */
    ctn_op_t *request;                  /* NULL: it has been freed */
    const ctn_schedule_t *original;     /* the schedule of `of` */
    ctn_schedule_t schedule;            /* a copy of it, with these links */
    ctn_schedule_t *hello; /* the schedule that connects: one message along each
                              link of the original */
    hello_t *sent;         /* [outs] */
    hello_t *came;         /* [ins] */
    void *memory;          /* slots, link controls, eager buffers and words, in
                              the heap */
    end_words_t *out_words; /* [outs] */
    end_words_t *in_words;  /* [ins] directly behind out_words */
    uint64_t *peer_words;   /* [outs + ins]: offsets of the peers' words in
                               their arenas */
} own_links_t;

/** State of the operation that connects. */
typedef struct connecting {
    ctn_exchange_t x; /* first: the phases of an exchange run on it */
    own_links_t *own;
} connecting_t;

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
        schedule->in[i].eager_bytes =
            ctn_link_eager_bytes(original->ins, in->eager_bytes, EAGER_ALL);
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
    size_t ends = (size_t)schedule->outs + schedule->ins;
    void *words;
    own->peer_words = calloc(ends + 1, sizeof(*own->peer_words));
    own->memory = ctn_link_take(own->of->exec, schedule->out, schedule->outs,
                                schedule->in, schedule->ins,
                                own->neighborhood.sequence.started,
                                ends * sizeof(end_words_t), &words);
    if (own->memory == NULL || own->peer_words == NULL) {
        return false;
    }
    own->out_words = words;
    own->in_words = own->out_words + schedule->outs;
    return true;
}

/** Makes the schedule that connects: one round, through the links of the
 * original. False: no memory. */
static bool make_hello(own_links_t *own)
{
    const ctn_schedule_t *original = own->original;
    uint32_t outs = original->outs;
    uint32_t ins = original->ins;
    ctn_schedule_t *hello = ctn_schedule_create(outs, ins, 0, outs + ins);
    own->hello = hello;
    own->sent = calloc((size_t)outs + ins + 1, sizeof(hello_t));
    if (hello == NULL || own->sent == NULL) {
        return false;
    }
    own->came = own->sent + outs;
    hello->algorithm = original->algorithm;
    hello->pattern = CTN_PATTERN_ALLTOALL;
    hello->rounds = 1;
    hello->out = original->out;
    hello->in = original->in;
    hello->outs = outs;
    hello->ins = ins;
    hello->is_hello = true;
    for (uint32_t o = 0; o < outs; o++) {
        hello->block[o] = (ctn_block_ref_t){CTN_BLOCK_SEND, o};
        hello->send[o] =
            (ctn_schedule_message_t){.link = o, .first = o, .count = 1};
        own->sent[o] = (hello_t){offset_of(own, own->schedule.out[o].control),
                                 offset_of(own, &own->out_words[o])};
    }
    for (uint32_t i = 0; i < ins; i++) {
        hello->block[outs + i] = (ctn_block_ref_t){CTN_BLOCK_RECV, i};
        hello->receive[i] =
            (ctn_schedule_message_t){.link = i, .first = outs + i, .count = 1};
    }
    return true;
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
    for (int algorithm = 0; algorithm < CTN_NEIGHBOR_ALGORITHMS; algorithm++) {
        if (own->of->schedule[algorithm][original->pattern] == original) {
            copy->schedule[algorithm][original->pattern] = &own->schedule;
        }
    }
    ctn_sequence_set(&copy->sequence, NULL, CTN_LINK_GENERATIONS,
                     CTN_LINK_FLIGHT);
    copy->sequence.without_generations = true;
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
    ctn_exec_free(own->neighborhood.exec, own->memory);
    own->neighborhood.exec->requests--;
    ctn_refcount_put(own->neighborhood.users);
    ctn_schedule_free(own->hello);
    free(own->sent);
    free(own->peer_words);
    free(own->schedule.out);
    free(own->schedule.in);
    free(own);
}

/* ---- connecting: the phases of an exchange with the schedule own->hello, then
 * send_ends and receive_ends ---- */

/** Receiver: the hello of each sender has arrived; tells the senders where they
 * may write. */
static ctn_step_t send_ends(ctn_op_t *op)
{
    own_links_t *own = ((connecting_t *)ctn_op_state(op))->own;
    ctn_schedule_t *schedule = &own->schedule;
    for (uint32_t i = 0; i < schedule->ins; i++) {
        ctn_link_in_t *in = &schedule->in[i];
        end_words_t here = {.slots = offset_of(own, in->slots),
                            .eager = offset_of(own, in->eager),
                            .eager_bytes = in->eager_bytes,
                            .words = offset_of(own, &own->in_words[i])};
        uint64_t at = own->came[i].words;
        in->control = own->came[i].control;
        own->peer_words[schedule->outs + i] = at;
        catena_status_t status = ctn_link_reach(op->exec, &in->peer);
        if (status == CATENA_OK) {
            status = ctn_put_signal(
                in->peer.endpoint, &here.slots, 4 * sizeof(uint64_t),
                at + offsetof(end_words_t, slots), at, 1, &op->pending);
        }
        if (status != CATENA_OK) {
            return ctn_op_fail(op, status);
        }
    }
    return CTN_STEP_NEXT;
}

/** Sender: waits for the answers of all receivers. */
static ctn_step_t receive_ends(ctn_op_t *op)
{
    own_links_t *own = ((connecting_t *)ctn_op_state(op))->own;
    for (uint32_t o = 0; o < own->schedule.outs; o++) {
        ctn_link_out_t *out = &own->schedule.out[o];
        const end_words_t *words = &own->out_words[o];
        if (ctn_word_load(&words->word) == 0) {
            op->waits_for = out->peer.rank;
            return ctn_link_wait(op, &out->peer);
        }
        out->slots = words->slots;
        out->eager = words->eager;
        out->eager_bytes = (uint32_t)words->eager_bytes;
        own->peer_words[o] = words->words;
    }
    return CTN_STEP_NEXT;
}

/** Prepares the request, and lets its first start begin. Other ranks depend on
 * that start: a failure aborts all operations. */
static void finish(ctn_op_t *op)
{
    own_links_t *own = ((connecting_t *)ctn_op_state(op))->own;
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
        (void)ctn_exec_abort(op->exec, status);
    }
    ctn_sequence_open(&own->neighborhood.sequence, CTN_LINK_FLIGHT);
}

static const ctn_phase_t phases[] = {CTN_EXCHANGE_PHASES,
                                     {"send ends", send_ends},
                                     {"receive ends", receive_ends},
                                     {NULL, NULL}};

static const ctn_description_t connecting_call =
    CTN_DESCRIPTION(neighbor_request, UNIFORM, UNIFORM, 0);

static const ctn_neighbor_collective_t connecting = {
    .algorithm = {.name = "neighbor request",
                  .state_bytes = sizeof(connecting_t),
                  .phases = phases,
                  .finish = finish,
                  .release = ctn_exchange_release},
    .call = &connecting_call,
};

/** Starts the operation that connects the links. False: no memory. */
static bool connect(own_links_t *own)
{
    catena_neighborhood_t *of = own->of;
    ctn_op_t *op =
        ctn_op_create(of->exec, &connecting.algorithm, &of->sequence);
    if (op == NULL) {
        return false;
    }
    connecting_t *c = ctn_op_state(op);
    c->own = own;
    c->x.collective = &connecting;
    c->x.neighborhood = of;
    c->x.send = (ctn_blocks_t){.type = ctn_type_fixed[CTN_FIXED_byte],
                               .base = (unsigned char *)own->sent,
                               .bytes = sizeof(hello_t),
                               .step = sizeof(hello_t)};
    c->x.recv = (ctn_blocks_t){.type = ctn_type_fixed[CTN_FIXED_byte],
                               .base = (unsigned char *)own->came,
                               .bytes = sizeof(hello_t),
                               .step = sizeof(hello_t)};
    op->persistent = true; /* so its execution is freed with it: the schedule
                              of that is freed, too */
    if (ctn_exchange_prepare_for(&c->x, own->hello) != CATENA_OK) {
        ctn_op_release(op);
        return false;
    }
    ctn_op_start_detached(op);
    return true;
}

/* ---- freeing: an operation of the request's sequence ---- */

/** Whether the freeing may begin: the links are connected, and no other
 * operation is under way. */
static bool is_over(const ctn_op_t *op)
{
    own_links_t *const *own = (const void *)op->memory;
    const ctn_sequence_t *sequence = &(*own)->neighborhood.sequence;
    return sequence->flight > 0 && ctn_sequence_under_way(sequence) == 1;
}

/** Tells the other end of a link that this end sends nothing more.
 * @param words offset of the peer's words in its arena */
static catena_status_t close_end(ctn_exec_t *exec, ctn_link_peer_t *peer,
                                 uint64_t words)
{
    catena_status_t status = ctn_link_reach(exec, peer);
    return status == CATENA_OK
               ? ctn_signal(peer->endpoint,
                            words + offsetof(end_words_t, closed), 1)
               : status;
}

/** Tells the other ends of all links that this rank sends nothing more. */
static ctn_step_t close_all(ctn_op_t *op)
{
    own_links_t *own = *(own_links_t **)ctn_op_state(op);
    ctn_schedule_t *schedule = &own->schedule;
    catena_status_t status = CATENA_OK;
    for (uint32_t o = 0; o < schedule->outs && status == CATENA_OK; o++) {
        status =
            close_end(op->exec, &schedule->out[o].peer, own->peer_words[o]);
    }
    for (uint32_t i = 0; i < schedule->ins && status == CATENA_OK; i++) {
        status = close_end(op->exec, &schedule->in[i].peer,
                           own->peer_words[schedule->outs + i]);
    }
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

/** Waits until the other ends of all links send nothing more. */
static ctn_step_t await_all(ctn_op_t *op)
{
    const own_links_t *own = *(own_links_t **)ctn_op_state(op);
    uint32_t ends = own->schedule.outs + own->schedule.ins;
    for (uint32_t e = 0; e < ends; e++) {
        if (ctn_word_load(&own->out_words[e].closed) == 0) {
            return CTN_STEP_WAIT;
        }
    }
    return CTN_STEP_NEXT;
}

static void give_back(ctn_op_t *op)
{
    release(*(own_links_t **)ctn_op_state(op));
}

static const ctn_phase_t closing_phases[] = {
    {"close", close_all}, {"await", await_all}, {NULL, NULL}};

static const ctn_algorithm_t closing = {
    .name = "free of a neighbor request",
    .state_bytes = sizeof(own_links_t *),
    .phases = closing_phases,
    .release = give_back,
    .ready = is_over,
};

/** op->dispose of the request: starts the operation that frees the links. */
static void dispose(void *owned)
{
    own_links_t *own = owned;
    ctn_exec_t *exec = own->neighborhood.exec;
    own->request = NULL;
    ctn_op_t *op = ctn_op_create(exec, &closing, &own->neighborhood.sequence);
    if (op == NULL) {
        (void)ctn_exec_abort(exec, CATENA_ERR_NO_MEMORY);
        return;
    }
    *(own_links_t **)ctn_op_state(op) = own;
    ctn_op_start_background(op, true);
}

/* ---- the request ---- */

/** The schedule for a call. Not one with aggregates, which are numbered by the
 * operations of the neighborhood: instead the general one of that algorithm. */
static const ctn_schedule_t *schedule_for(const ctn_exchange_t *x)
{
    const ctn_schedule_t *chosen = ctn_exchange_choose(x);
    for (int algorithm = 0;
         chosen->aggregates != NULL && algorithm < CTN_NEIGHBOR_ALGORITHMS;
         algorithm++) {
        const ctn_schedule_t *schedule =
            x->neighborhood->schedule[algorithm][chosen->pattern];
        if (schedule != NULL && schedule->uniform == chosen) {
            return schedule;
        }
    }
    return chosen;
}

catena_status_t ctn_neighbor_own_links(ctn_op_t *op)
{
    ctn_exchange_t *x = ctn_op_state(op);
    own_links_t *own = ctn_lines_alloc(sizeof(*own));
    if (own == NULL) {
        return ctn_exec_abort(op->exec, CATENA_ERR_NO_MEMORY);
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
        return ctn_exec_abort(op->exec, CATENA_ERR_NO_MEMORY);
    }
    op->owned = own;
    op->dispose = dispose;
    return CATENA_OK;
}
