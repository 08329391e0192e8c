/* NBR-5. Sparse exchange: records from any members of a chain to any others, in
 * the rounds of a double scan: in round d a record goes a step of 2^d if its
 * distance has that bit. Rounds: ceil(log2 p). Messages: two per member and
 * round. Bytes: every record travels one step for each bit that is set in its
 * distance. Memory: the records on their way through a member, and once more
 * those that move in a round. */

#include <stdlib.h>
#include <string.h>

#include "group/group.h"
#include "group/scan_rounds.h"
#include "neighbor/create/sparse_exchange.h"
#include "topo/topo.h"

/** The start of a record. */
typedef struct route {
    uint32_t to;
    uint32_t from;
} route_t;

_Static_assert(offsetof(ctn_long_record_t, to) == offsetof(route_t, to) &&
                   offsetof(ctn_long_record_t, from) == offsetof(route_t, from),
               "all records begin alike");

/** In the status word of a message: the flag of its sender. */
#define FLAG (UINT64_C(1) << 32)

/** The start of a message; records follow. */
typedef struct exchange_head {
    uint64_t of_scan;
    uint64_t status; /* negated, and FLAG. After an error a member sends only
                        this: its own status, or one that it received */
} exchange_head_t;

_Static_assert(offsetof(exchange_head_t, status) == CTN_DOUBLE_SCAN_HEAD_BYTES,
               "the value of a message begins with the status");

/** State of the operation. */
typedef struct sparse_exchange {
    ctn_double_scan_t double_scan; /* first */
    size_t bytes;                  /* of an item of `vector` */
    ctn_vector_t *vector;          /* records that are at this member */
    bool *flag; /* of this member, and of those that it has heard of. NULL: all
                   records have one item */
    catena_status_t status;
    bool exhausted; /* this member ran out of memory in the exchange */
    /* By side that the records come from: */
    exchange_head_t head[2];   /* of a message without records */
    unsigned char *message[2]; /* with records; NULL: none */
    size_t message_bytes[2];
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

static void exhaust(sparse_exchange_t *exchange)
{
    exchange->exhausted = true;
    give_up(exchange, CATENA_ERR_NO_MEMORY);
}

/** The items of a record. */
static size_t items_of(const sparse_exchange_t *exchange,
                       const unsigned char *record)
{
    ctn_long_record_t head;
    if (exchange->flag == NULL) {
        return 1;
    }
    memcpy(&head, record, sizeof(head));
    return head.items;
}

static unsigned char *record_at(const ctn_vector_t *vector, size_t bytes,
                                size_t i)
{
    return (unsigned char *)vector->item + i * bytes;
}

/** Whether a record goes to `side` in this round. */
static bool leaves(const sparse_exchange_t *exchange,
                   const unsigned char *record, unsigned side)
{
    uint32_t rank = exchange->double_scan.place->rank;
    uint32_t to = route_of(record).to;
    uint32_t distance = side == CTN_RIGHT ? to - rank : rank - to;
    return (side == CTN_RIGHT ? to > rank : to < rank) &&
           (distance >> exchange->double_scan.rounds.index & 1u) != 0;
}

/** Frees the message of the round before. */
static void drop_message(const ctn_op_t *op, sparse_exchange_t *exchange,
                         unsigned from)
{
    ctn_scratch_free(op->exec, exchange->message[from],
                     exchange->message_bytes[from]);
    exchange->message[from] = NULL;
}

/** Memory for a message with so many items. */
static unsigned char *open_message(const ctn_op_t *op,
                                   sparse_exchange_t *exchange, unsigned from,
                                   size_t items)
{
    size_t bytes = sizeof(exchange_head_t) + items * exchange->bytes;
    drop_message(op, exchange, from);
    if (items > 0) {
        exchange->message[from] = ctn_scratch_alloc(op->exec, bytes);
        exchange->message_bytes[from] = bytes;
        if (exchange->message[from] != NULL) {
            return exchange->message[from];
        }
        exhaust(exchange);
    }
    return (unsigned char *)&exchange->head[from];
}

/** For ctn_double_scan_values_t: the status, and the records that go to the
 * other side than `from`; the status alone if there is no memory for these. */
static catena_status_t outgoing(ctn_op_t *op, unsigned from,
                                unsigned char **message, size_t *bytes)
{
    sparse_exchange_t *exchange = ctn_op_state(op);
    const ctn_vector_t *vector = exchange->vector;
    size_t count = 0;
    for (size_t i = 0, items; i < vector->count; i += items) {
        const unsigned char *record = record_at(vector, exchange->bytes, i);
        items = items_of(exchange, record);
        count += leaves(exchange, record, !from) ? items : 0;
    }
    *message = open_message(op, exchange, from, count);
    uint64_t status = (uint64_t) - (int64_t)exchange->status;
    status |= exchange->flag != NULL && *exchange->flag ? FLAG : 0;
    memcpy(*message + offsetof(exchange_head_t, status), &status,
           sizeof(status));
    unsigned char *at = *message + sizeof(exchange_head_t);
    for (size_t i = 0, items; i < vector->count; i += items) {
        const unsigned char *record = record_at(vector, exchange->bytes, i);
        items = items_of(exchange, record);
        if (leaves(exchange, record, !from)) {
            memcpy(at, record, items * exchange->bytes);
            at += items * exchange->bytes;
        }
    }
    *bytes = (size_t)(at - *message) - CTN_DOUBLE_SCAN_HEAD_BYTES;
    ctn_exec_charge(op->exec, CTN_WORK_COPY, *bytes);
    return CATENA_OK;
}

/** Closes the gaps that records leave which were sent in this round. */
static void keep_rest(const sparse_exchange_t *exchange)
{
    ctn_vector_t *vector = exchange->vector;
    size_t kept = 0;
    for (size_t i = 0, items; i < vector->count; i += items) {
        unsigned char *record = record_at(vector, exchange->bytes, i);
        items = items_of(exchange, record);
        if (leaves(exchange, record, CTN_LEFT) ||
            leaves(exchange, record, CTN_RIGHT)) {
            continue;
        }
        if (kept < i) {
            memmove(record_at(vector, exchange->bytes, kept), record,
                    items * exchange->bytes);
        }
        kept += items;
    }
    vector->count = kept;
}

/** For ctn_double_scan_values_t: takes the records of a message. The messages
 * to both sides have been sent. */
static catena_status_t incoming(ctn_op_t *op, unsigned side,
                                const unsigned char *value, size_t bytes)
{
    sparse_exchange_t *exchange = ctn_op_state(op);
    ctn_vector_t *vector = exchange->vector;
    uint64_t status;
    memcpy(&status, value, sizeof(status));
    size_t count = (bytes - sizeof(status)) / exchange->bytes;
    (void)side;
    keep_rest(exchange);
    if ((status & FLAG) != 0) {
        *exchange->flag = true;
        status &= ~FLAG;
    }
    if (status != 0) {
        give_up(exchange, (catena_status_t) - (int64_t)status);
    } else if (exchange->status == CATENA_OK && count > 0) {
        if (!ctn_vector_reserve(vector, count, exchange->bytes)) {
            exhaust(exchange);
            return CATENA_OK;
        }
        memcpy(record_at(vector, exchange->bytes, vector->count),
               value + sizeof(status), count * exchange->bytes);
        vector->count += count;
    }
    return CATENA_OK;
}

static const ctn_double_scan_values_t values = {outgoing, incoming};

static ctn_step_t begin(ctn_op_t *op)
{
    sparse_exchange_t *exchange = ctn_op_state(op);
    exchange->double_scan.values = &values;
    exchange->double_scan.of_group = true;
    ctn_double_scan_begin(&exchange->double_scan);
    if (exchange->flag != NULL && op->exec->network != NULL) {
        ctn_op_set_network(op, true); /* members may get from this one */
    }
    return CTN_STEP_NEXT;
}

/** Ends the operation with the status. */
static ctn_step_t end_with_status(ctn_op_t *op)
{
    sparse_exchange_t *exchange = ctn_op_state(op);
    if (exchange->exhausted && exchange->flag != NULL) {
        (void)ctn_op_give_up(op, CATENA_ERR_NO_MEMORY);
    }
    op->clean = true;
    return exchange->status == CATENA_OK ? CTN_STEP_NEXT
                                         : ctn_op_fail(op, exchange->status);
}

/** Also after an error that has interrupted the rounds. */
static void finish(ctn_op_t *op)
{
    sparse_exchange_t *exchange = ctn_op_state(op);
    drop_message(op, exchange, CTN_LEFT);
    drop_message(op, exchange, CTN_RIGHT);
    ctn_double_scan_drop(op);
}

static const ctn_phase_t phases[] = {{"begin", begin},
                                     {"rounds", ctn_double_scan_rounds},
                                     {"status", end_with_status},
                                     {NULL, NULL}};

/* An error that a member has from the beginning reaches all others, as the
 * values of a double scan do. A later error goes where the records that the
 * member drops would have gone. */
static const ctn_algorithm_t algorithm = {
    .name = "neighborhood/sparse_exchange",
    .state_bytes = sizeof(sparse_exchange_t),
    .phases = phases,
    .synchronizing = true,
    .finish = finish,
};

/* ---- input and output ---- */

/** Sets the origin of the records to be sent; an error drops them. */
static void set_origin(ctn_vector_t *records, uint32_t from, size_t bytes,
                       catena_status_t status)
{
    records->count = status == CATENA_OK ? records->count : 0;
    for (size_t i = 0; i < records->count; i++) {
        memcpy(record_at(records, bytes, i) + offsetof(route_t, from), &from,
               sizeof(from));
    }
}

static int by_origin(const void *a, const void *b)
{
    route_t x = route_of(a);
    route_t y = route_of(b);
    return ctn_compare_words((const uint32_t[]){x.from, x.to},
                             (const uint32_t[]){y.from, y.to}, 2);
}

/** Sorts the received records by origin. Those of one origin have kept their
 * order: their places take that of the target, which is this rank. */
static void put_in_order(ctn_exec_t *exec, ctn_vector_t *records, size_t bytes)
{
    for (uint32_t i = 0; i < records->count; i++) {
        memcpy(record_at(records, bytes, i), &i, sizeof(i));
    }
    ctn_vector_sort(records, bytes, by_origin);
    ctn_exec_charge(exec, CTN_WORK_COMPARE, records->count);
}

/** The operation, on `sequence` of the group. NULL: no memory. */
static ctn_op_t *create(catena_group_t *group, ctn_sequence_t *sequence,
                        catena_status_t status, ctn_vector_t *records,
                        size_t bytes)
{
    ctn_op_t *op = ctn_op_create(group->exec, &algorithm, sequence);
    if (op != NULL) {
        sparse_exchange_t *exchange = ctn_op_state(op);
        exchange->double_scan.place = &group->chain.place;
        exchange->bytes = bytes;
        exchange->vector = records;
        exchange->status = status;
    }
    return op;
}

catena_status_t ctn_sparse_exchange(catena_group_t *group,
                                    catena_status_t status,
                                    ctn_vector_t *records, size_t bytes)
{
    set_origin(records, group->chain.place.rank, bytes, status);
    ctn_op_t *op =
        create(group, &group->chain.sequence, status, records, bytes);
    catena_status_t ran = ctn_group_run(group, op);
    status = status == CATENA_OK ? ran : status;
    if (status == CATENA_OK) {
        put_in_order(group->exec, records, bytes);
    } else {
        records->count = 0;
    }
    return status;
}

catena_status_t ctn_sparse_exchange_long(catena_group_t *group,
                                         catena_status_t status,
                                         ctn_vector_t *records, bool *flag)
{
    ctn_op_t *op = NULL;
    unsigned slots = 2 * ctn_rounds(group->chain.place.size);
    records->count = status == CATENA_OK ? records->count : 0;
    if (ctn_group_take_eager(group, slots) == CATENA_OK) {
        op = create(group, &group->sequence, status, records,
                    sizeof(ctn_long_record_t));
    }
    if (op == NULL) {
        return ctn_group_give_up(group, CATENA_ERR_NO_MEMORY);
    }
    sparse_exchange_t *exchange = ctn_op_state(op);
    exchange->flag = flag;
    catena_status_t ran = ctn_op_run(group->exec, op);
    return status == CATENA_OK ? ran : status;
}
