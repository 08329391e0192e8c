/* Allgather on a chain into published tables. Recursive doubling without
 * wrap-around: before round d a member has the records of the members less than
 * 2^d away on either side. In round d it sends its partner 2^d to the left its
 * own records and those of the members to its right, which that partner lacks,
 * and conversely its partner to the right. Rounds: ceil(log2 p), and one before
 * to publish the tables. All members know the number of records, so a sender
 * puts them directly to their final place, in one step a round. In
 * chain_allgather.c, for blocks of any lengths, the receiver copies them. */

#include <string.h>

#include "exec/slot.h"
#include "group/chain.h"

typedef struct table_allgather {
    /* First. The value of a message is the offset of the table of the member
     * whose address it has; in the greeting, of the sender's. */
    ctn_double_scan_t double_scan;
    /* arguments */
    unsigned char *memory; /* of this member's table */
    uint64_t table;        /* its offset in the member's arena */
    size_t record_bytes;
    const uint32_t *first;
    /* working */
    uint64_t partner_table[2]; /* by side: offset of the partner's */
    struct {
        unsigned char head[CTN_DOUBLE_SCAN_HEAD_BYTES];
        uint64_t table;
    } message[2]; /* by the side whose value it has */
} table_allgather_t;

static ctn_step_t begin(ctn_op_t *op)
{
    table_allgather_t *gather = ctn_op_state(op);
    ctn_double_scan_begin(&gather->double_scan);
    return CTN_STEP_NEXT;
}

/** Return the offset of member `i`'s records in a table. */
static size_t record_start(const table_allgather_t *gather, uint32_t i)
{
    return (gather->first != NULL ? gather->first[i] : i) *
           gather->record_bytes;
}

/** Put the records that the partner on `side` lacks into its table. Word 1 of
 * the slot of this round's message announces them. It is visible before the
 * message, whose word is sent next over the same endpoint. */
static catena_status_t put_records(ctn_op_t *op, table_allgather_t *gather,
                                   unsigned side)
{
    const ctn_double_scan_t *double_scan = &gather->double_scan;
    uint64_t rank = double_scan->place->rank;
    uint64_t reach = UINT64_C(1) << (double_scan->rounds.index - 1);
    /* The first and the last member whose records are sent. */
    uint64_t low = side == CTN_LEFT
                       ? rank
                       : rank + 1 - (reach < rank + 1 ? reach : rank + 1);
    uint64_t high = side == CTN_RIGHT ? rank : rank + reach - 1;
    if (high >= double_scan->place->size) {
        high = double_scan->place->size - 1;
    }
    size_t start = record_start(gather, (uint32_t)low);
    size_t bytes = record_start(gather, (uint32_t)high + 1) - start;
    ctn_address_t to = double_scan->partner[side];
    ctn_endpoint_t *endpoint;
    catena_status_t status = ctn_op_connect(op, to.process, &endpoint);
    return status == CATENA_OK
               ? ctn_put_signal(endpoint, gather->memory + start, bytes,
                                gather->partner_table[side] + start,
                                ctn_slot_word_offset(
                                    op->sequence, to, op->seq,
                                    2 * double_scan->rounds.index + !side, 1),
                                ctn_flag(op->seq, 0), &op->pending)
               : status;
}

static catena_status_t outgoing(ctn_op_t *op, unsigned side,
                                unsigned char **message, size_t *bytes)
{
    table_allgather_t *gather = ctn_op_state(op);
    bool greeting = gather->double_scan.rounds.index == 0;
    gather->message[side].table =
        greeting ? gather->table : gather->partner_table[side];
    *message = gather->message[side].head;
    *bytes = sizeof(gather->message[side].table);
    return greeting ? CATENA_OK : put_records(op, gather, !side);
}

static catena_status_t incoming(ctn_op_t *op, unsigned side,
                                const unsigned char *value, size_t bytes)
{
    table_allgather_t *gather = ctn_op_state(op);
    (void)bytes;
    memcpy(&gather->partner_table[side], value,
           sizeof(gather->partner_table[side]));
    return CATENA_OK;
}

static const ctn_double_scan_values_t values = {outgoing, incoming};

static const ctn_phase_t phases[] = {
    {"begin", begin}, {"rounds", ctn_double_scan_rounds}, {NULL, NULL}};

static const ctn_algorithm_t algorithm = {
    .name = "chain/allgather",
    .state_bytes = sizeof(table_allgather_t),
    .phases = phases,
    .synchronizing = true,
};

ctn_op_t *ctn_table_allgather_create(ctn_exec_t *exec, ctn_chain_t *chain,
                                     void *table, size_t record_bytes,
                                     const uint32_t *first)
{
    ctn_op_t *op = ctn_op_create(exec, &algorithm, &chain->sequence);
    if (op != NULL) {
        table_allgather_t *gather = ctn_op_state(op);
        gather->double_scan.place = &chain->place;
        gather->double_scan.values = &values;
        gather->double_scan.greets = true;
        gather->memory = table;
        gather->table = ctn_heap_offset(exec->heap, table);
        gather->record_bytes = record_bytes;
        gather->first = first;
    }
    return op;
}
