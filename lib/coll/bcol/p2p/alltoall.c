/* P2P-12: alltoall over messages, Bruck with any radix. Bruck, Ho, Kipnis,
 * Upfal, Weathersby: Efficient algorithms for all-to-all communications in
 * multiport message-passing systems, IEEE TPDS 8 (11), 1997. Write the distance
 * of a block's destination from its source in digits of radix r. For each
 * digit, from the lowest up, a member sends to the member v r^digit ahead all
 * blocks whose distance has the value v in that digit: one message for each v.
 * With radix m there is one digit, and every block goes to its destination
 * directly.
 *
 * "bruck" has the radix of a rule, else 2; "direct" the largest radix whose
 * messages have a slot each: m up to 13 members with an eager buffer each, up
 * to 28 at all, then about 4 log2 m / 2 for two digits, and so on.
 * Rounds: log_r m. Messages: up to (r - 1) log_r m per member. Memory: with
 * several digits, the blocks of a member twice. Differs from the paper: blocks
 * of unequal lengths; the first message of a block is sent from the send
 * buffer's blocks, the last one is unpacked to the receive buffer, so nothing
 * is rotated. */

#include "coll/bcol/p2p/parts.h"

#include "exec/slot.h"

/* Messages that a member receives at once. */
enum { RECEIVES = 8 };

/** State of the operation. */
typedef struct p2p_alltoall {
    ctn_p2p_call_t call; /* first */
    uint32_t radix;
    uint64_t step;     /* radix^digit */
    unsigned slot;     /* of the first message of the digit */
    uint32_t messages; /* of the digit */
    uint32_t received; /* messages 0 to received - 1 of it are taken */
    uint32_t read;     /* those to read - 1 have been read by their receivers */
    bool invalid;      /* those that were sent say that they have no data */
    uint8_t taken;     /* bit i: message received + i is taken */
    size_t expected[RECEIVES]; /* bytes of message v: v % RECEIVES; SIZE_MAX:
                                  not computed */
    ctn_receive_handle_t handle[RECEIVES]; /* of message v: v % RECEIVES */
    const unsigned char *in;
    size_t stride; /* of blocks in `held` */
    /* In one block of memory; none with one digit, unless the send buffer must
     * be copied. */
    unsigned char *held;   /* [m]: blocks under way, by distance */
    unsigned char *packed; /* the messages of a digit */
    size_t memory_bytes;
} p2p_alltoall_t;

/* ---- lengths ---- */

/** Bytes of the block between two members. */
static size_t block_bytes(const ctn_basic_coll_t *basic, uint32_t a, uint32_t b)
{
    return ctn_basic_weight(basic, a) * ctn_basic_weight(basic, b) *
           basic->bytes;
}

/** Where the block to or from a member begins in a buffer. */
static size_t block_offset(const p2p_alltoall_t *state, uint32_t member)
{
    const ctn_basic_coll_t *basic = state->call.basic;
    return ctn_basic_weight(basic, state->call.p2p->me) *
           ctn_basic_weight_before(basic, member) * basic->bytes;
}

/** The member `away` after one; `away` is less than the size. */
static uint32_t ahead(const ctn_p2p_t *p2p, uint32_t member, uint64_t away)
{
    return (uint32_t)((member + away) % p2p->size);
}

static uint32_t behind(const ctn_p2p_t *p2p, uint32_t member, uint64_t away)
{
    return (uint32_t)((member + p2p->size - away) % p2p->size);
}

/* ---- radix ---- */

/** Messages of the digit of `step`. */
static uint32_t messages_of(uint32_t size, uint32_t radix, uint64_t step)
{
    uint64_t most = (size - 1) / step;
    return (uint32_t)(most < radix - 1 ? most : radix - 1);
}

static uint32_t all_messages(uint32_t size, uint32_t radix)
{
    uint32_t all = 0;
    for (uint64_t step = 1; step < size; step *= radix) {
        all += messages_of(size, radix, step);
    }
    return all;
}

/** The largest radix, up to `most`, whose messages have a slot each. */
static uint32_t fitting_radix(const ctn_p2p_t *p2p, uint32_t most)
{
    uint32_t slots = ctn_p2p_slots(p2p->rounds) - 1; /* the last: see query */
    uint32_t radix = most < p2p->size ? most : p2p->size;
    radix = radix < slots + 1 ? radix : slots + 1;
    while (radix > 2 && all_messages(p2p->size, radix) > slots) {
        radix--;
    }
    return radix > 2 ? radix : 2;
}

/** Rules match the length of the block between two members of mean weight. */
static uint32_t choose_radix(ctn_p2p_t *p2p, const ctn_basic_coll_t *basic)
{
    uint32_t most = UINT32_MAX;
    size_t mean = ctn_basic_weight_before(basic, p2p->size) / p2p->size;
    if (ctn_basic_choose(&p2p->module, CTN_ALLTOALL, CTN_P2P_ALLTOALLS, basic,
                         mean * mean * basic->bytes) == CTN_ALGORITHM_BRUCK) {
        const ctn_rule_t *rule = p2p->module.choice[CTN_ALLTOALL].rule;
        most = rule != NULL && rule->radix > 0 ? rule->radix : 2;
    }
    return fitting_radix(p2p, most);
}

/* ---- messages ---- */

static bool is_direct(const p2p_alltoall_t *state)
{
    return state->radix >= state->call.p2p->size;
}

/** Where a block of this distance lies before it is sent. */
static const unsigned char *source_of(const p2p_alltoall_t *state, uint32_t i)
{
    const ctn_p2p_t *p2p = state->call.p2p;
    return i % state->step == 0
               ? state->in + block_offset(state, ahead(p2p, p2p->me, i))
               : state->held + i * state->stride;
}

/** Where it goes when it has arrived. */
static unsigned char *target_of(const p2p_alltoall_t *state, uint32_t i)
{
    const ctn_p2p_t *p2p = state->call.p2p;
    return i < state->step * state->radix
               ? (unsigned char *)state->call.basic->out +
                     block_offset(state, behind(p2p, p2p->me, i))
               : state->held + i * state->stride;
}

/** Bytes of a block of this distance, which this member sends or receives. */
static size_t bytes_of(const p2p_alltoall_t *state, uint32_t i, bool incoming)
{
    const ctn_p2p_t *p2p = state->call.p2p;
    uint64_t made = i % (incoming ? state->step * state->radix : state->step);
    uint32_t source = behind(p2p, p2p->me, made);
    return block_bytes(state->call.basic, source, ahead(p2p, source, i));
}

/** The distance of the next block of a message after one of distance i. */
static uint64_t next_block(const p2p_alltoall_t *state, uint64_t i)
{
    uint64_t next = i + 1;
    return next % state->step != 0
               ? next
               : next + state->step * (state->radix - (uint64_t)1);
}

static size_t message_bytes(const p2p_alltoall_t *state, uint32_t v,
                            bool incoming)
{
    size_t bytes = 0;
    for (uint64_t i = v * state->step; i < state->call.p2p->size;
         i = next_block(state, i)) {
        bytes += bytes_of(state, (uint32_t)i, incoming);
    }
    return bytes;
}

/** Lay the blocks of a message end to end. @return their end */
static unsigned char *pack(ctn_op_t *op, uint32_t v, unsigned char *to)
{
    const p2p_alltoall_t *state = ctn_op_state(op);
    for (uint64_t i = v * state->step; i < state->call.p2p->size;
         i = next_block(state, i)) {
        size_t bytes = bytes_of(state, (uint32_t)i, false);
        ctn_p2p_copy(op, to, source_of(state, (uint32_t)i), bytes);
        to += bytes;
    }
    return to;
}

/** Copy the blocks of a message, unless it came to its target. */
static void unpack(ctn_op_t *op, uint32_t v, const unsigned char *from)
{
    const p2p_alltoall_t *state = ctn_op_state(op);
    for (uint64_t i = v * state->step; i < state->call.p2p->size;
         i = next_block(state, i)) {
        size_t bytes = bytes_of(state, (uint32_t)i, true);
        ctn_p2p_copy(op, target_of(state, (uint32_t)i), from, bytes);
        from += bytes;
    }
}

/* ---- the operation ---- */

static bool in_heap(const ctn_op_t *op, const void *memory, size_t bytes)
{
    uint64_t offset;
    return ctn_heap_contains(op->exec->heap, memory, bytes, &offset);
}

/** Whether a direct message has to be read in the send buffer, which is not in
 * the heap. */
static bool must_copy(const ctn_op_t *op, const p2p_alltoall_t *state)
{
    const ctn_p2p_t *p2p = state->call.p2p;
    bool rendezvous = false;
    for (uint32_t i = 1; i < p2p->size; i++) {
        rendezvous |=
            bytes_of(state, i, false) > ctn_slot_capacity(op->sequence, i - 1);
    }
    return rendezvous &&
           !in_heap(op, state->in, block_offset(state, p2p->size));
}

/** Take the memory, and copy the send buffer if need be. */
static catena_status_t take_memory(ctn_op_t *op, p2p_alltoall_t *state)
{
    const ctn_p2p_t *p2p = state->call.p2p;
    const ctn_basic_coll_t *basic = state->call.basic;
    size_t all = block_offset(state, p2p->size);
    bool copies = is_direct(state) && must_copy(op, state);
    size_t heaviest = 0, second = 0; /* no block under way is a member's own */
    for (uint32_t i = 0; i < p2p->size; i++) {
        size_t w = ctn_basic_weight(basic, i);
        second = w > heaviest ? heaviest : w > second ? w : second;
        heaviest = w > heaviest ? w : heaviest;
    }
    state->stride = heaviest * second * basic->bytes;
    size_t held = is_direct(state) ? 0 : p2p->size * state->stride;
    state->memory_bytes = copies ? all : 2 * held;
    if (state->memory_bytes == 0) {
        return CATENA_OK;
    }
    state->held = ctn_scratch_alloc(op->exec, state->memory_bytes);
    if (state->held == NULL) {
        return ctn_op_give_up(op, CATENA_ERR_NO_MEMORY);
    }
    state->packed = state->held + held;
    if (copies) {
        ctn_p2p_copy(op, state->held, state->in, all);
        state->in = state->held;
    }
    return CATENA_OK;
}

static ctn_step_t begin(ctn_op_t *op)
{
    p2p_alltoall_t *state = ctn_op_state(op);
    const ctn_basic_coll_t *basic = state->call.basic;
    uint32_t me = state->call.p2p->me;
    state->radix = choose_radix(state->call.p2p, basic);
    ctn_p2p_begin_alltoall(op, state->radix);
    state->step = 1;
    state->slot = 0;
    state->in = basic->in;
    ctn_p2p_copy(op, (unsigned char *)basic->out + block_offset(state, me),
                 state->in + block_offset(state, me),
                 block_bytes(basic, me, me));
    catena_status_t status = take_memory(op, state);
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

/** Send all messages of a digit. */
static ctn_step_t send(ctn_op_t *op)
{
    p2p_alltoall_t *state = ctn_op_state(op);
    const ctn_p2p_t *p2p = state->call.p2p;
    unsigned char *packed = state->packed;
    state->messages = messages_of(p2p->size, state->radix, state->step);
    state->received = state->read = 0;
    state->taken = 0;
    for (unsigned i = 0; i < RECEIVES; i++) {
        state->expected[i] = SIZE_MAX;
    }
    state->invalid = state->call.status != CATENA_OK;
    op->exec->tally.rounds += state->messages > 0;
    for (uint32_t k = 0; k < state->messages; k++) {
        uint32_t to = ahead(p2p, p2p->me, (k + 1) * state->step);
        const unsigned char *data = packed;
        if (is_direct(state)) {
            data = source_of(state, k + 1);
        } else if (!state->invalid) {
            packed = pack(op, k + 1, packed);
        }
        catena_status_t status = ctn_message_send_zcopy(
            op, p2p->module.sbgp->member[to].memory, state->slot + k,
            state->call.signature, ctn_exec_data(op->exec, data),
            state->invalid ? CTN_MESSAGE_MISMATCH
                           : message_bytes(state, k + 1, false));
        if (status != CATENA_OK) {
            return ctn_op_fail(op, status);
        }
    }
    return CTN_STEP_NEXT;
}

/** Receive message k of the digit, and take it. */
static ctn_step_t receive_one(ctn_op_t *op, p2p_alltoall_t *state, uint32_t k)
{
    const ctn_p2p_t *p2p = state->call.p2p;
    uint32_t from = behind(p2p, p2p->me, (k + 1) * state->step);
    size_t *bytes = &state->expected[k % RECEIVES];
    ctn_receive_handle_t *handle = &state->handle[k % RECEIVES];
    if (*bytes == SIZE_MAX) {
        *bytes = message_bytes(state, k + 1, true);
    }
    ctn_step_t step =
        ctn_p2p_receive_blocks(op, from, state->slot + k, *bytes, handle);
    if (step == CTN_STEP_NEXT) {
        if (state->call.found == *bytes) {
            unpack(op, k + 1, handle->data);
        }
        *bytes = SIZE_MAX;
        ctn_receive_handle_release(op, handle);
    }
    return step;
}

/** Receive the messages of a digit, some at once. */
static ctn_step_t receive_all(ctn_op_t *op, p2p_alltoall_t *state)
{
    for (uint32_t i = 0; i < RECEIVES && state->received + i < state->messages;
         i++) {
        if ((state->taken >> i & 1) != 0) {
            continue;
        }
        ctn_step_t step = receive_one(op, state, state->received + i);
        if (step == CTN_STEP_FAIL) {
            return step;
        }
        state->taken |= (uint8_t)((step == CTN_STEP_NEXT) << i);
    }
    bool moved = (state->taken & 1) != 0;
    for (; (state->taken & 1) != 0; state->taken >>= 1) {
        state->received++;
    }
    return state->received == state->messages ? CTN_STEP_NEXT
           : moved                            ? CTN_STEP_MOVED
                                              : CTN_STEP_WAIT;
}

/** Whether the messages of the digit have been read. */
static bool all_read(ctn_op_t *op, p2p_alltoall_t *state)
{
    while (!state->invalid && state->read < state->messages &&
           ctn_message_zcopy_done(
               op, state->slot + state->read, state->call.signature,
               message_bytes(state, state->read + 1, false))) {
        state->read++;
    }
    return state->invalid || state->read == state->messages;
}

enum { SEND = 1 }; /* index in `phases` */

static ctn_step_t receive(ctn_op_t *op)
{
    p2p_alltoall_t *state = ctn_op_state(op);
    ctn_step_t step = receive_all(op, state);
    if (step != CTN_STEP_NEXT) {
        return step;
    }
    if (!all_read(op, state)) {
        return CTN_STEP_WAIT;
    }
    state->slot += state->messages;
    state->step *= state->radix;
    return state->step < state->call.p2p->size ? ctn_op_jump(op, SEND)
                                               : CTN_STEP_NEXT;
}

static void finish(ctn_op_t *op)
{
    p2p_alltoall_t *state = ctn_op_state(op);
    for (unsigned i = 0; i < RECEIVES; i++) {
        if (state->handle[i].data != NULL || state->handle[i].fetching) {
            ctn_receive_handle_release(op, &state->handle[i]);
        }
    }
    /* After a failure other members may still read the messages. */
    if (op->status == CATENA_OK) {
        ctn_scratch_free(op->exec, state->held, state->memory_bytes);
    }
    state->held = NULL;
}

static const ctn_phase_t phases[] = {{"begin", begin},
                                     [SEND] = {"send", send},
                                     {"receive", receive},
                                     {"end", ctn_p2p_end_vector},
                                     {NULL, NULL}};

const ctn_algorithm_t ctn_p2p_alltoall = {
    .name = "p2p/alltoall",
    .state_bytes = sizeof(p2p_alltoall_t),
    .phases = phases,
    .synchronizing = true,
    .finish = finish,
};
