/* NBR-5. Sparse exchange: records from any members of a chain to any others,
 * along its log-chain. The number d of a round counts down to 0; in round d
 * records for members 2^d or more away go a step of 2^d. Moody, Ahn, de
 * Supinski: Exascale Algorithms for Generalized MPI_Comm_split, EuroMPI 2011,
 * section 2, describes the log-chain. Rounds: ceil(log2 p). Messages: two per
 * member and round.
 * Bytes: every record travels one step for each bit that is set in its
 * distance. Memory: the records on their way through a member, and once more
 * those that move in a round. */

#include <stdlib.h>
#include <string.h>

#include "exec/message.h"
#include "group/group.h"
#include "neighbor/create/sparse_exchange.h"

/* The two sides of a member in the chain: indices of side[]. */
enum { LEFT, RIGHT };

/** The start of a record on its way: target and origin; the data follow. */
typedef struct route {
    uint32_t to;
    uint32_t from;
} route_t;

/** State of the operation. */
typedef struct sparse_exchange {
    /* arguments */
    const ctn_chain_t *chain;
    size_t bytes;         /* of a record with its route */
    ctn_vector_t *vector; /* records that are at this member */
    /* state */
    unsigned round; /* 1 + d; 0: all rounds are over */
    bool sent;      /* the messages of this round have been sent */
    bool here[2];   /* the message of this round from that side has arrived, or
                       no member is there */
    /* After an error a member sends this status instead of records: its own,
     * or one that it received. */
    catena_status_t status;
    ctn_send_handle_t send_handle[2];
    ctn_receive_handle_t receive_handle[2];
} sparse_exchange_t;

static route_t route_of(const unsigned char *record)
{
    route_t route;
    memcpy(&route, record, sizeof(route));
    return route;
}

/** Drops all records: from now on only the status is sent. */
static void give_up(sparse_exchange_t *exchange, catena_status_t status)
{
    exchange->status = status;
    exchange->vector->count = 0;
}

static unsigned char *record_at(const ctn_vector_t *vector, size_t bytes,
                                size_t i)
{
    return (unsigned char *)vector->item + i * bytes;
}

/** The member that is 2^(round - 1) away on that side. */
static ctn_address_t partner(const sparse_exchange_t *exchange, unsigned side)
{
    return exchange->chain->log->round[exchange->round - 1].side[side];
}

/** Whether a record goes to `side` in this round. */
static bool leaves(const sparse_exchange_t *exchange,
                   const unsigned char *record, unsigned side)
{
    uint32_t step = UINT32_C(1) << (exchange->round - 1);
    uint32_t rank = exchange->chain->place.rank;
    uint32_t to = route_of(record).to;
    return side == RIGHT ? to >= rank + step : to + step <= rank;
}

/** Composes the message to `side`: the status, then the records. NULL: no
 * memory. */
static unsigned char *compose(const sparse_exchange_t *exchange, unsigned side,
                              size_t *bytes)
{
    const ctn_vector_t *vector = exchange->vector;
    size_t count = 0;
    for (size_t i = 0; i < vector->count; i++) {
        count += leaves(exchange, record_at(vector, exchange->bytes, i), side);
    }
    unsigned char *message = malloc(sizeof(uint64_t) + count * exchange->bytes);
    if (message == NULL) {
        return NULL;
    }
    uint64_t status = (uint64_t) - (int64_t)exchange->status;
    memcpy(message, &status, sizeof(status));
    *bytes = sizeof(status);
    for (size_t i = 0; i < vector->count; i++) {
        const unsigned char *record = record_at(vector, exchange->bytes, i);
        if (leaves(exchange, record, side)) {
            memcpy(message + *bytes, record, exchange->bytes);
            *bytes += exchange->bytes;
        }
    }
    return message;
}

/** Closes the gaps between the remaining records. */
static void keep_rest(const sparse_exchange_t *exchange)
{
    ctn_vector_t *vector = exchange->vector;
    size_t kept = 0;
    for (size_t i = 0; i < vector->count; i++) {
        unsigned char *record = record_at(vector, exchange->bytes, i);
        if (leaves(exchange, record, LEFT) || leaves(exchange, record, RIGHT)) {
            continue;
        }
        if (kept < i) {
            memcpy(record_at(vector, exchange->bytes, kept), record,
                   exchange->bytes);
        }
        kept++;
    }
    vector->count = kept;
}

/** Sends the message of a round to one side: the status and records, or the
 * status alone if there is no memory for the message. */
static catena_status_t send(ctn_op_t *op, sparse_exchange_t *exchange,
                            unsigned side)
{
    unsigned slot = 2 * (exchange->round - 1) + !side;
    size_t bytes = 0;
    unsigned char *message = compose(exchange, side, &bytes);
    catena_status_t status = CATENA_ERR_NO_MEMORY;
    if (message != NULL) {
        status = ctn_message_send(op, partner(exchange, side), slot, 0, message,
                                  bytes, &exchange->send_handle[side]);
        free(message);
    }
    if (status == CATENA_ERR_NO_MEMORY) {
        uint64_t word = (uint64_t) - (int64_t)status;
        give_up(exchange, status);
        status = ctn_message_send(op, partner(exchange, side), slot, 0, &word,
                                  sizeof(word), &exchange->send_handle[side]);
    }
    return status;
}

/** Sends the messages of a round to both sides. */
static ctn_step_t send_both(ctn_op_t *op, sparse_exchange_t *exchange)
{
    if (!ctn_message_send_done(op, &exchange->send_handle[LEFT]) ||
        !ctn_message_send_done(op, &exchange->send_handle[RIGHT])) {
        return CTN_STEP_WAIT;
    }
    catena_status_t status = CATENA_OK;
    for (unsigned side = LEFT; side <= RIGHT && status == CATENA_OK; side++) {
        exchange->here[side] = !ctn_address_exists(partner(exchange, side));
        if (!exchange->here[side]) {
            status = send(op, exchange, side);
        }
    }
    if (status != CATENA_OK) {
        return ctn_op_fail(op, status);
    }
    ctn_exec_charge(op->exec, CTN_WORK_COPY,
                    exchange->vector->count * exchange->bytes);
    keep_rest(exchange);
    exchange->sent = true;
    op->exec->tally.rounds++;
    return CTN_STEP_MOVED;
}

/** Takes the records of the message from `side`. */
static void take(sparse_exchange_t *exchange, unsigned side)
{
    const ctn_receive_handle_t *receive_handle =
        &exchange->receive_handle[side];
    uint64_t word;
    memcpy(&word, receive_handle->data, sizeof(word));
    size_t count = (receive_handle->bytes - sizeof(word)) / exchange->bytes;
    ctn_vector_t *vector = exchange->vector;
    if (word != 0) {
        give_up(exchange, (catena_status_t) - (int64_t)word);
    } else if (exchange->status == CATENA_OK && count > 0) {
        if (!ctn_vector_reserve(vector, count, exchange->bytes)) {
            give_up(exchange, CATENA_ERR_NO_MEMORY);
            return;
        }
        memcpy(record_at(vector, exchange->bytes, vector->count),
               receive_handle->data + sizeof(word), count * exchange->bytes);
        vector->count += count;
    }
}

/** Receives the message of a round from one side. */
static ctn_step_t receive(ctn_op_t *op, sparse_exchange_t *exchange,
                          unsigned side)
{
    if (exchange->here[side]) {
        return CTN_STEP_NEXT;
    }
    ctn_step_t step = ctn_message_receive(op, partner(exchange, side),
                                          2 * (exchange->round - 1) + side, 0,
                                          &exchange->receive_handle[side]);
    if (step != CTN_STEP_NEXT) {
        uint32_t rank = exchange->chain->place.rank;
        uint32_t away = UINT32_C(1) << (exchange->round - 1);
        op->waits_for = side == LEFT ? rank - away : rank + away;
        return step;
    }
    take(exchange, side);
    ctn_receive_handle_release(op, &exchange->receive_handle[side]);
    exchange->here[side] = true;
    return step;
}

static ctn_step_t begin(ctn_op_t *op)
{
    sparse_exchange_t *exchange = ctn_op_state(op);
    exchange->round = exchange->chain->log->rounds;
    exchange->sent = false;
    return CTN_STEP_NEXT;
}

static ctn_step_t rounds(ctn_op_t *op)
{
    sparse_exchange_t *exchange = ctn_op_state(op);
    if (exchange->round == 0) {
        return ctn_message_send_done(op, &exchange->send_handle[LEFT]) &&
                       ctn_message_send_done(op, &exchange->send_handle[RIGHT])
                   ? CTN_STEP_NEXT
                   : CTN_STEP_WAIT;
    }
    if (!exchange->sent) {
        return send_both(op, exchange);
    }
    for (unsigned side = LEFT; side <= RIGHT; side++) {
        ctn_step_t step = receive(op, exchange, side);
        if (step != CTN_STEP_NEXT) {
            return step;
        }
    }
    exchange->round--;
    exchange->sent = false;
    return CTN_STEP_MOVED;
}

/** Ends the operation with the status. */
static ctn_step_t end_with_status(ctn_op_t *op)
{
    sparse_exchange_t *exchange = ctn_op_state(op);
    op->clean = true;
    return exchange->status == CATENA_OK ? CTN_STEP_NEXT
                                         : ctn_op_fail(op, exchange->status);
}

static void finish(ctn_op_t *op)
{
    sparse_exchange_t *exchange = ctn_op_state(op);
    for (unsigned side = LEFT; side <= RIGHT; side++) {
        ctn_send_handle_release(op, &exchange->send_handle[side]);
        ctn_receive_handle_release(op, &exchange->receive_handle[side]);
    }
}

static const ctn_phase_t phases[] = {{"begin", begin},
                                     {"rounds", rounds},
                                     {"status", end_with_status},
                                     {NULL, NULL}};

/* An error that a member has from the beginning reaches all others, since each
 * distance is a sum of steps in falling order. A later error goes where the
 * records that the member drops would have gone. */
static const ctn_algorithm_t algorithm = {
    .name = "neighborhood/sparse_exchange",
    .state_bytes = sizeof(sparse_exchange_t),
    .phases = phases,
    .synchronizing = true,
    .finish = finish,
};

/* ---- input and output ---- */

/** Copies the caller's records and adds their origin. */
static catena_status_t fill(ctn_vector_t *vector, uint32_t from, size_t bytes,
                            size_t count, const unsigned char *record)
{
    size_t record_bytes = bytes + sizeof(uint32_t);
    if (count > 0 &&
        (record == NULL || !ctn_vector_reserve(vector, count, record_bytes))) {
        return CATENA_ERR_NO_MEMORY;
    }
    for (size_t i = 0; i < count; i++) {
        unsigned char *at = record_at(vector, record_bytes, i);
        memcpy(at, record + i * bytes, sizeof(uint32_t));
        memcpy(at + sizeof(uint32_t), &from, sizeof(from));
        memcpy(at + sizeof(route_t), record + i * bytes + sizeof(uint32_t),
               bytes - sizeof(uint32_t));
    }
    vector->count = count;
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

/** Sorts the records by origin. Those of one origin have kept their order. */
static catena_status_t put_in_order(ctn_exec_t *exec,
                                    const ctn_vector_t *vector, size_t bytes,
                                    void **came)
{
    size_t record_bytes = bytes + sizeof(uint32_t);
    uint64_t *key = malloc((vector->count + 1) * sizeof(*key));
    unsigned char *ordered = malloc(vector->count * bytes + 1);
    if (key == NULL || ordered == NULL) {
        free(key);
        free(ordered);
        return CATENA_ERR_NO_MEMORY;
    }
    for (size_t i = 0; i < vector->count; i++) {
        key[i] = (uint64_t)route_of(record_at(vector, record_bytes, i)).from
                     << 32 |
                 i;
    }
    qsort(key, vector->count, sizeof(*key), by_value);
    for (size_t i = 0; i < vector->count; i++) {
        const unsigned char *record =
            record_at(vector, record_bytes, (uint32_t)key[i]);
        memcpy(ordered + i * bytes, record + offsetof(route_t, from), bytes);
    }
    ctn_exec_charge(exec, CTN_WORK_COMPARE, vector->count);
    ctn_exec_charge(exec, CTN_WORK_COPY, vector->count * bytes);
    free(key);
    *came = ordered;
    return CATENA_OK;
}

static ctn_op_t *create(catena_group_t *group, size_t record_bytes,
                        ctn_vector_t *vector, catena_status_t status)
{
    ctn_op_t *op =
        ctn_op_create(group->exec, &algorithm, &group->chain.sequence);
    if (op != NULL) {
        sparse_exchange_t *exchange = ctn_op_state(op);
        exchange->chain = &group->chain;
        exchange->bytes = record_bytes;
        exchange->vector = vector;
        exchange->status = status;
    }
    return op;
}

catena_status_t ctn_sparse_exchange(catena_group_t *group, size_t bytes,
                                    size_t count, const void *record,
                                    void **came, size_t *came_count)
{
    ctn_vector_t vector = {0};
    uint32_t rank = group->chain.place.rank;
    catena_status_t status = ctn_op_run_or_abort(
        group->exec, ctn_log_chain_create(group->exec, &group->chain));
    if (status != CATENA_OK) {
        return status;
    }
    catena_status_t own = fill(&vector, rank, bytes, count, record);
    ctn_op_t *op = create(group, bytes + sizeof(uint32_t), &vector, own);
    status = op != NULL ? ctn_op_run(group->exec, op)
                        : ctn_op_run_or_abort(group->exec, NULL);
    if (status == CATENA_OK) {
        status = put_in_order(group->exec, &vector, bytes, came);
        *came_count = vector.count;
    }
    ctn_vector_drop(&vector);
    return status;
}

void ctn_sparse_exchange_vector(catena_group_t *group, catena_status_t *status,
                                ctn_vector_t *records, size_t bytes,
                                ctn_vector_t *came)
{
    bool good = *status == CATENA_OK;
    *came = (ctn_vector_t){0};
    /* NULL instead of records gives all ranks an error. */
    catena_status_t ran = ctn_sparse_exchange(
        group, bytes, good ? records->count : 1, good ? records->item : NULL,
        &came->item, &came->capacity);
    if (ran == CATENA_OK) {
        came->count = came->capacity;
    }
    if (good) {
        *status = ran;
    }
    ctn_vector_drop(records);
}
