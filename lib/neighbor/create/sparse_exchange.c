/* NBR-5. Records from any members of a chain to any others, along its
 * log-chain: in round d, the greatest distance first, what is for members 2^d
 * or more away goes a step of 2^d. Moody, Ahn, de Supinski: Exascale Algorithms
 * for Generalized MPI_Comm_split, EuroMPI 2011, section 2, has the log-chain.
 * Rounds: ceil(log2 p). Messages: two per member and round. Bytes: every record
 * travels as many steps as its distance has bits that are set. Memory: what is
 * on its way through a member, and once more what of it moves in a round. */

#include <stdlib.h>
#include <string.h>

#include "exec/message.h"
#include "group/group.h"
#include "neighbor/neighborhood.h"

enum { LEFT, RIGHT };

/** How a record travels; the rest follows. */
typedef struct label {
    uint32_t to;
    uint32_t from;
} label_t;

/** Records that are here. */
typedef struct bag {
    unsigned char *memory;
    size_t count;
    size_t room;
} bag_t;

typedef struct deliver {
    /* arguments */
    const ctn_chain_t *chain;
    size_t bytes; /* of a record with its label */
    bag_t *bag;
    /* working */
    unsigned round; /* counts down; what is left to do */
    bool sent;
    bool here[2];
    /* This member's, or that of one it has heard from: it has no memory, and
     * only says so on. */
    catena_status_t status;
    ctn_send_handle_t parcel[2];
    ctn_receive_handle_t letter[2];
} deliver_t;

static label_t label_of(const unsigned char *record)
{
    label_t label;
    memcpy(&label, record, sizeof(label));
    return label;
}

static void give_up(deliver_t *deliver, catena_status_t status)
{
    deliver->status = status;
    deliver->bag->count = 0;
}

static bool bag_reserve(bag_t *bag, size_t bytes, size_t count)
{
    if (bag->count + count <= bag->room) {
        return true;
    }
    size_t room = bag->room + bag->room / 2;
    room = room < bag->count + count ? bag->count + count : room;
    unsigned char *memory = realloc(bag->memory, room * bytes);
    if (memory == NULL) {
        return false;
    }
    bag->memory = memory;
    bag->room = room;
    return true;
}

static ctn_address_t partner(const deliver_t *deliver, unsigned side)
{
    return deliver->chain->log->round[deliver->round - 1].side[side];
}

/** Whether a record goes to `side` in this round. */
static bool leaves(const deliver_t *deliver, const unsigned char *record,
                   unsigned side)
{
    uint32_t step = UINT32_C(1) << (deliver->round - 1);
    uint32_t rank = deliver->chain->place.rank;
    uint32_t to = label_of(record).to;
    return side == RIGHT ? to >= rank + step : to + step <= rank;
}

/** The message to `side`: the status, then what goes there. NULL: no memory. */
static unsigned char *compose(const deliver_t *deliver, unsigned side,
                              size_t *bytes)
{
    const bag_t *bag = deliver->bag;
    size_t count = 0;
    for (size_t i = 0; i < bag->count; i++) {
        count += leaves(deliver, bag->memory + i * deliver->bytes, side);
    }
    unsigned char *message = malloc(sizeof(uint64_t) + count * deliver->bytes);
    if (message == NULL) {
        return NULL;
    }
    uint64_t status = (uint64_t) - (int64_t)deliver->status;
    memcpy(message, &status, sizeof(status));
    *bytes = sizeof(status);
    for (size_t i = 0; i < bag->count; i++) {
        const unsigned char *record = bag->memory + i * deliver->bytes;
        if (leaves(deliver, record, side)) {
            memcpy(message + *bytes, record, deliver->bytes);
            *bytes += deliver->bytes;
        }
    }
    return message;
}

/** What stays moves together. */
static void keep_rest(const deliver_t *deliver)
{
    bag_t *bag = deliver->bag;
    size_t kept = 0;
    for (size_t i = 0; i < bag->count; i++) {
        unsigned char *record = bag->memory + i * deliver->bytes;
        if (leaves(deliver, record, LEFT) || leaves(deliver, record, RIGHT)) {
            continue;
        }
        if (kept < i) {
            memcpy(bag->memory + kept * deliver->bytes, record, deliver->bytes);
        }
        kept++;
    }
    bag->count = kept;
}

static catena_status_t send(ctn_op_t *op, deliver_t *deliver, unsigned side)
{
    unsigned slot = 2 * (deliver->round - 1) + !side;
    size_t bytes = 0;
    unsigned char *message = compose(deliver, side, &bytes);
    catena_status_t status = CATENA_ERR_NO_MEMORY;
    if (message != NULL) {
        status = ctn_message_send(op, partner(deliver, side), slot, 0, message,
                                  bytes, &deliver->parcel[side]);
        free(message);
    }
    if (status == CATENA_ERR_NO_MEMORY) {
        uint64_t said = (uint64_t) - (int64_t)status;
        give_up(deliver, status);
        status = ctn_message_send(op, partner(deliver, side), slot, 0, &said,
                                  sizeof(said), &deliver->parcel[side]);
    }
    return status;
}

static ctn_step_t send_both(ctn_op_t *op, deliver_t *deliver)
{
    if (!ctn_message_send_done(op, &deliver->parcel[LEFT]) ||
        !ctn_message_send_done(op, &deliver->parcel[RIGHT])) {
        return CTN_STEP_WAIT;
    }
    catena_status_t status = CATENA_OK;
    for (unsigned side = LEFT; side <= RIGHT && status == CATENA_OK; side++) {
        deliver->here[side] = !ctn_address_exists(partner(deliver, side));
        if (!deliver->here[side]) {
            status = send(op, deliver, side);
        }
    }
    if (status != CATENA_OK) {
        return ctn_op_fail(op, status);
    }
    ctn_exec_charge(op->exec, CTN_WORK_COPY,
                    deliver->bag->count * deliver->bytes);
    keep_rest(deliver);
    deliver->sent = true;
    op->exec->tally.rounds++;
    return CTN_STEP_MOVED;
}

/** Take over the message from `side`. */
static void take(deliver_t *deliver, unsigned side)
{
    const ctn_receive_handle_t *letter = &deliver->letter[side];
    uint64_t said;
    memcpy(&said, letter->data, sizeof(said));
    size_t count = (letter->bytes - sizeof(said)) / deliver->bytes;
    bag_t *bag = deliver->bag;
    if (said != 0) {
        give_up(deliver, (catena_status_t) - (int64_t)said);
    } else if (deliver->status == CATENA_OK && count > 0) {
        if (!bag_reserve(bag, deliver->bytes, count)) {
            give_up(deliver, CATENA_ERR_NO_MEMORY);
            return;
        }
        memcpy(bag->memory + bag->count * deliver->bytes,
               letter->data + sizeof(said), count * deliver->bytes);
        bag->count += count;
    }
}

static ctn_step_t receive(ctn_op_t *op, deliver_t *deliver, unsigned side)
{
    if (deliver->here[side]) {
        return CTN_STEP_NEXT;
    }
    ctn_step_t step = ctn_message_receive(op, partner(deliver, side),
                                          2 * (deliver->round - 1) + side, 0,
                                          &deliver->letter[side]);
    if (step != CTN_STEP_NEXT) {
        uint32_t rank = deliver->chain->place.rank;
        uint32_t away = UINT32_C(1) << (deliver->round - 1);
        op->waits_for = side == LEFT ? rank - away : rank + away;
        return step;
    }
    take(deliver, side);
    ctn_receive_handle_release(op, &deliver->letter[side]);
    deliver->here[side] = true;
    return step;
}

static ctn_step_t begin(ctn_op_t *op)
{
    deliver_t *deliver = ctn_op_state(op);
    deliver->round = deliver->chain->log->rounds;
    deliver->sent = false;
    return CTN_STEP_NEXT;
}

static ctn_step_t rounds(ctn_op_t *op)
{
    deliver_t *deliver = ctn_op_state(op);
    if (deliver->round == 0) {
        return ctn_message_send_done(op, &deliver->parcel[LEFT]) &&
                       ctn_message_send_done(op, &deliver->parcel[RIGHT])
                   ? CTN_STEP_NEXT
                   : CTN_STEP_WAIT;
    }
    if (!deliver->sent) {
        return send_both(op, deliver);
    }
    for (unsigned side = LEFT; side <= RIGHT; side++) {
        ctn_step_t step = receive(op, deliver, side);
        if (step != CTN_STEP_NEXT) {
            return step;
        }
    }
    deliver->round--;
    deliver->sent = false;
    return CTN_STEP_MOVED;
}

static ctn_step_t judge(ctn_op_t *op)
{
    deliver_t *deliver = ctn_op_state(op);
    op->clean = true;
    return deliver->status == CATENA_OK ? CTN_STEP_NEXT
                                        : ctn_op_fail(op, deliver->status);
}

static void finish(ctn_op_t *op)
{
    deliver_t *deliver = ctn_op_state(op);
    for (unsigned side = LEFT; side <= RIGHT; side++) {
        ctn_send_handle_release(op, &deliver->parcel[side]);
        ctn_receive_handle_release(op, &deliver->letter[side]);
    }
}

static const ctn_phase_t phases[] = {
    {"begin", begin}, {"rounds", rounds}, {"judge", judge}, {NULL, NULL}};

/* What a member says from the beginning goes on to all others, whatever is
 * between them: each distance is a sum of steps in falling order. What it says
 * later goes where records would have gone that it had to let go of. */
static const ctn_algorithm_t algorithm = {
    .name = "neighborhood/deliver",
    .state_bytes = sizeof(deliver_t),
    .phases = phases,
    .synchronizing = true,
    .finish = finish,
};

/* ---- what goes in and what comes out ---- */

/** The caller's records with their labels. */
static catena_status_t fill(bag_t *bag, uint32_t from, size_t bytes,
                            size_t count, const unsigned char *record)
{
    size_t wide = bytes + sizeof(uint32_t);
    if (count > 0 && (record == NULL || !bag_reserve(bag, wide, count))) {
        return CATENA_ERR_NO_MEMORY;
    }
    for (size_t i = 0; i < count; i++) {
        unsigned char *at = bag->memory + i * wide;
        memcpy(at, record + i * bytes, sizeof(uint32_t));
        memcpy(at + sizeof(uint32_t), &from, sizeof(from));
        memcpy(at + sizeof(label_t), record + i * bytes + sizeof(uint32_t),
               bytes - sizeof(uint32_t));
    }
    bag->count = count;
    return CATENA_OK;
}

static int by_value(const void *a, const void *b)
{
    uint64_t x;
    uint64_t y;
    memcpy(&x, a, sizeof(x));
    memcpy(&y, b, sizeof(y));
    return (x > y) - (x < y);
}

/** Those of one member have stayed in order all the way: so by member, then as
 * they lie. */
static catena_status_t put_in_order(ctn_exec_t *exec, const bag_t *bag,
                                    size_t bytes, void **came)
{
    size_t wide = bytes + sizeof(uint32_t);
    uint64_t *key = malloc((bag->count + 1) * sizeof(*key));
    unsigned char *ordered = malloc(bag->count * bytes + 1);
    if (key == NULL || ordered == NULL) {
        free(key);
        free(ordered);
        return CATENA_ERR_NO_MEMORY;
    }
    for (size_t i = 0; i < bag->count; i++) {
        key[i] = (uint64_t)label_of(bag->memory + i * wide).from << 32 | i;
    }
    qsort(key, bag->count, sizeof(*key), by_value);
    for (size_t i = 0; i < bag->count; i++) {
        const unsigned char *record = bag->memory + (uint32_t)key[i] * wide;
        memcpy(ordered + i * bytes, record + offsetof(label_t, from), bytes);
    }
    ctn_exec_charge(exec, CTN_WORK_COMPARE, bag->count);
    ctn_exec_charge(exec, CTN_WORK_COPY, bag->count * bytes);
    free(key);
    *came = ordered;
    return CATENA_OK;
}

static ctn_op_t *create(catena_group_t *group, size_t wide, bag_t *bag,
                        catena_status_t status)
{
    ctn_op_t *op =
        ctn_op_create(group->exec, &algorithm, &group->chain.sequence);
    if (op != NULL) {
        deliver_t *deliver = ctn_op_state(op);
        deliver->chain = &group->chain;
        deliver->bytes = wide;
        deliver->bag = bag;
        deliver->status = status;
    }
    return op;
}

catena_status_t ctn_sparse_exchange(catena_group_t *group, size_t bytes,
                                    size_t count, const void *record,
                                    void **came, size_t *came_count)
{
    bag_t bag = {NULL, 0, 0};
    uint32_t rank = group->chain.place.rank;
    catena_status_t status = ctn_op_run_or_abort(
        group->exec, ctn_log_chain_create(group->exec, &group->chain));
    if (status != CATENA_OK) {
        return status;
    }
    catena_status_t own = fill(&bag, rank, bytes, count, record);
    ctn_op_t *op = create(group, bytes + sizeof(uint32_t), &bag, own);
    status =
        op != NULL ? ctn_op_run(op) : ctn_op_run_or_abort(group->exec, NULL);
    if (status == CATENA_OK) {
        status = put_in_order(group->exec, &bag, bytes, came);
        *came_count = bag.count;
    }
    free(bag.memory);
    return status;
}
