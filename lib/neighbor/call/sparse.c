/* NBR-9. Sparse data exchange: the targets of a rank know nothing of it. One
 * sparse exchange (NBR-5) of records that contain short blocks, and tell where
 * long blocks lie in the shared heap of their source. If any rank has sent a
 * long block, the targets then get these, and a second exchange without records
 * ends when all have them. Rounds: ceil(log2 p), twice with long blocks.
 * Memory: the blocks that are sent, received and forwarded.
 *
 * T. Hoefler, C. Siebert, A. Lumsdaine, Scalable Communication Protocols for
 * Dynamic Sparse Data Exchange, PPoPP 2010, define the problem. Their NBX sends
 * each block directly by a synchronous send, probes for blocks, and ends by a
 * nonblocking barrier: a message and an acknowledgement for each block. Here
 * blocks that go the same way share messages. */

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/entry.h"
#include "core/refuse.h"
#include "group/check.h"
#include "group/recovery.h"
#include "neighbor/create/sparse_exchange.h"

/** Blocks up to this length are forwarded with their records. Longer ones are
 * not copied on the way, for the price of a second exchange. */
#define SHORT_BYTES CTN_PICK(4096u, 64u)

enum { UNIT = sizeof(ctn_long_record_t) };

/** A record; then the block, or if `is_long` where it is. */
typedef struct block_record {
    ctn_long_record_t route;
    uint64_t bytes; /* of the block */
    uint64_t is_long;
} block_record_t;

typedef struct long_block {
    uint64_t process;
    uint64_t offset; /* in its arena */
} long_block_t;

_Static_assert(sizeof(block_record_t) % UNIT == 0 &&
                   sizeof(long_block_t) % UNIT == 0,
               "a record is a number of units");

/** Where the copies of long blocks that are not in the heap lie. A block that
 * is the same as the one copied before, for another target, shares its copy. */
typedef struct copies {
    const unsigned char *block; /* that was copied last */
    size_t bytes;               /* of it */
    size_t at;                  /* of its copy */
    size_t end;                 /* of all copies */
} copies_t;

/** The call of a rank. */
typedef struct sparse_call {
    catena_group_t *group;
    int count;
    const int *targets;
    const unsigned char *send;
    const size_t *bytes;
    const size_t *offsets; /* or NULL: the blocks are consecutive */
    ctn_vector_t records;
    bool any_long;        /* on some rank */
    unsigned char *longs; /* copies of long blocks that are not in the heap */
    size_t long_bytes;
} sparse_call_t;

/** A received record, to be sorted. */
typedef struct received_record {
    uint32_t from;
    size_t at; /* in the vector, in units */
} received_record_t;

/* ---- arguments ---- */

static catena_status_t check(const char *function, const sparse_call_t *call,
                             catena_received_t *const *out)
{
    const ctn_log_t *log = call->group->exec->log;
    uint32_t size = call->group->chain.place.size;
    size_t all = 0;
    if (out == NULL) {
        return ctn_refuse_null(log, function, "out");
    }
    if (call->count < 0) {
        return ctn_refuse(log, CATENA_ERR_ARG, function,
                          "target_count is %d; expected 0 or more",
                          call->count);
    }
    if (call->count > 0 && (call->targets == NULL || call->bytes == NULL)) {
        return ctn_refuse_null(log, function,
                               call->targets == NULL ? "targets" : "bytes");
    }
    for (int i = 0; i < call->count; i++) {
        int target = call->targets[i];
        if (target != CATENA_PROC_NULL &&
            (target < 0 || (uint32_t)target >= size)) {
            return ctn_refuse(log, CATENA_ERR_ARG, function,
                              "target %d is rank %d; the group has ranks 0 to "
                              "%u",
                              i, target, size - 1);
        }
        if (__builtin_add_overflow(all, call->bytes[i], &all) ||
            all > PTRDIFF_MAX) {
            return ctn_refuse(log, CATENA_ERR_ARG, function,
                              "the blocks up to target %d have more bytes than "
                              "the memory",
                              i);
        }
    }
    return all > 0 && call->send == NULL
               ? ctn_refuse_null(log, function, "send")
               : CATENA_OK;
}

/* ---- sending ---- */

static size_t units(size_t bytes)
{
    return (bytes + UNIT - 1) / UNIT;
}

/** The units of a record with its block. */
static size_t record_units(size_t bytes)
{
    return sizeof(block_record_t) / UNIT +
           units(bytes > SHORT_BYTES ? sizeof(long_block_t) : bytes);
}

/** Where block i lies, if the blocks before it end at `end`. */
static const unsigned char *block_at(const sparse_call_t *call, int i,
                                     size_t end)
{
    return call->send == NULL
               ? NULL
               : call->send + (call->offsets != NULL ? call->offsets[i] : end);
}

/** Give a long block a place among the copies. @return it needs a copy */
static bool add_copy(copies_t *copies, const unsigned char *block, size_t bytes)
{
    bool is_new = block != copies->block || bytes != copies->bytes;
    if (is_new) {
        *copies = (copies_t){block, bytes, copies->end, copies->end + bytes};
    }
    return is_new;
}

/** Memory for the records and for copies of long blocks. */
static catena_status_t reserve(sparse_call_t *call)
{
    ctn_exec_t *exec = call->group->exec;
    copies_t copies = {.end = 0};
    size_t items = 0, end = 0;
    uint64_t offset;
    for (int i = 0; i < call->count; end += call->bytes[i++]) {
        items += record_units(call->bytes[i]);
        if (call->targets[i] != CATENA_PROC_NULL &&
            call->bytes[i] > SHORT_BYTES &&
            !ctn_heap_contains(exec->heap, block_at(call, i, end),
                               call->bytes[i], &offset)) {
            (void)add_copy(&copies, block_at(call, i, end), call->bytes[i]);
        }
    }
    call->long_bytes = copies.end;
    if (call->long_bytes > 0) {
        call->longs = ctn_scratch_alloc(exec, call->long_bytes);
    }
    return (call->long_bytes == 0 || call->longs != NULL) &&
                   ctn_vector_reserve(&call->records, items + 1, UNIT)
               ? CATENA_OK
               : CATENA_ERR_NO_MEMORY;
}

/** Where a long block is in the heap, after a copy if need be. */
static long_block_t in_heap(const sparse_call_t *call,
                            const unsigned char *block, size_t bytes,
                            copies_t *copies)
{
    ctn_exec_t *exec = call->group->exec;
    long_block_t at = {.process = call->group->chain.place.self.process};
    if (!ctn_heap_contains(exec->heap, block, bytes, &at.offset)) {
        bool is_new = add_copy(copies, block, bytes);
        unsigned char *copy = call->longs + copies->at;
        at.offset = ctn_heap_offset(exec->heap, copy);
        if (is_new) {
            ctn_exec_copy(exec, copy, block, bytes);
        }
    }
    return at;
}

/** Set the records. */
static void fill(sparse_call_t *call)
{
    copies_t copies = {.end = 0};
    size_t end = 0;
    for (int i = 0; i < call->count; end += call->bytes[i++]) {
        size_t bytes = call->bytes[i];
        const unsigned char *block = block_at(call, i, end);
        unsigned char *at =
            (unsigned char *)call->records.item + call->records.count * UNIT;
        if (call->targets[i] == CATENA_PROC_NULL) {
            continue;
        }
        block_record_t record = {
            .route = {.to = (uint32_t)call->targets[i],
                      .from = call->group->chain.place.rank,
                      .items = record_units(bytes)},
            .bytes = bytes,
            .is_long = bytes > SHORT_BYTES};
        memcpy(at, &record, sizeof(record));
        call->records.count += record.route.items;
        if (bytes > SHORT_BYTES) {
            long_block_t where = in_heap(call, block, bytes, &copies);
            memcpy(at + sizeof(record), &where, sizeof(where));
            call->any_long = true;
        } else {
            ctn_exec_copy(call->group->exec, at + sizeof(record), block, bytes);
        }
    }
}

/* ---- receiving ---- */

static const unsigned char *record_at(const sparse_call_t *call, size_t at)
{
    return (const unsigned char *)call->records.item + at * UNIT;
}

static block_record_t head_at(const sparse_call_t *call, size_t at)
{
    block_record_t head;
    memcpy(&head, record_at(call, at), sizeof(head));
    return head;
}

static int by_source(const void *a, const void *b)
{
    const received_record_t *x = a;
    const received_record_t *y = b;
    return x->from != y->from ? (x->from > y->from) - (x->from < y->from)
                              : (x->at > y->at) - (x->at < y->at);
}

/** Sort the received records by source. @return false: no memory */
static bool sort(const sparse_call_t *call, ctn_vector_t *sorted, size_t *bytes)
{
    *bytes = 0;
    for (size_t at = 0; at < call->records.count;) {
        block_record_t head = head_at(call, at);
        received_record_t *record = ctn_vector_add(sorted, sizeof(*record));
        if (record == NULL || sorted->count > INT_MAX) {
            return false;
        }
        *record = (received_record_t){.from = head.route.from, .at = at};
        *bytes += head.bytes;
        at += head.route.items;
    }
    ctn_vector_sort(sorted, sizeof(received_record_t), by_source);
    ctn_exec_charge(call->group->exec, CTN_WORK_COMPARE, sorted->count);
    return true;
}

/** One block of memory for the result: the struct, its arrays and the data.
 * NULL: no memory. */
static catena_received_t *allocate(size_t count, size_t bytes)
{
    size_t arrays = count * (2 * sizeof(size_t) + sizeof(int));
    size_t head = (sizeof(catena_received_t) + arrays + 63) & ~(size_t)63;
    catena_received_t *made = NULL;
    void *memory;
    if (posix_memalign(&memory, 64, head + bytes) == 0) {
        made = memory;
        made->count = (int)count;
        made->bytes = (size_t *)(made + 1);
        made->offsets = made->bytes + count;
        made->sources = (int *)(made->offsets + count);
        made->data = (unsigned char *)memory + head;
        made->total_bytes = bytes;
    }
    return made;
}

/** State of the operation that gets long blocks. */
typedef struct get_blocks {
    const sparse_call_t *call;
    const received_record_t *record;
    const catena_received_t *result;
    bool *pending; /* set if the network may still write to the result */
} get_blocks_t;

/** Get a long block: over the network, or by a copy on the node. */
static catena_status_t get_block(ctn_op_t *op, long_block_t from, void *target,
                                 size_t bytes)
{
    ctn_endpoint_t *endpoint;
    catena_status_t status =
        ctn_exec_connect(op->exec, from.process, &endpoint);
    if (status != CATENA_OK) {
        return status;
    }
    const void *mapped = ctn_pointer(endpoint, from.offset);
    op->exec->tally.bytes += bytes;
    if (mapped != NULL) {
        ctn_exec_copy(op->exec, target, mapped, bytes);
        return CATENA_OK;
    }
    ctn_op_set_network(op, true);
    return endpoint->transport->ops->get(endpoint,
                                         op->exec->drop_data ? NULL : target,
                                         bytes, from.offset, &op->pending);
}

static ctn_step_t begin_gets(ctn_op_t *op)
{
    const get_blocks_t *get = ctn_op_state(op);
    catena_status_t status = CATENA_OK;
    for (int i = 0; i < get->result->count && status == CATENA_OK; i++) {
        block_record_t head = head_at(get->call, get->record[i].at);
        long_block_t from;
        if (head.is_long != 0) {
            memcpy(&from,
                   record_at(get->call, get->record[i].at) + sizeof(head),
                   sizeof(from));
            status = get_block(op, from,
                               (unsigned char *)get->result->data +
                                   get->result->offsets[i],
                               head.bytes);
        }
    }
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

static ctn_step_t await_gets(ctn_op_t *op)
{
    return op->pending == 0 ? CTN_STEP_NEXT : CTN_STEP_WAIT;
}

/** Gets are pending only after an error that has ended the context. */
static void end_gets(ctn_op_t *op)
{
    const get_blocks_t *get = ctn_op_state(op);
    *get->pending = op->pending != 0;
}

static const ctn_phase_t get_phases[] = {
    {"get", begin_gets}, {"await", await_gets}, {NULL, NULL}};

static const ctn_algorithm_t get_algorithm = {
    .name = "sparse_exchange/get",
    .state_bytes = sizeof(get_blocks_t),
    .phases = get_phases,
    .finish = end_gets,
};

/** Get all long blocks of the result. */
static catena_status_t get_all(const sparse_call_t *call,
                               const ctn_vector_t *sorted,
                               const catena_received_t *result, bool *pending)
{
    ctn_exec_t *exec = call->group->exec;
    ctn_op_t *op = ctn_op_create(exec, &get_algorithm, NULL);
    if (op != NULL) {
        *(get_blocks_t *)ctn_op_state(op) =
            (get_blocks_t){call, sorted->item, result, pending};
        op->failure = call->group->sequence.failure;
    }
    return ctn_group_run(call->group, op);
}

/** Set the arrays of the result, and copy the short blocks. */
static void unpack(const sparse_call_t *call, const ctn_vector_t *sorted,
                   catena_received_t *result)
{
    const received_record_t *record = sorted->item;
    size_t end = 0;
    for (int i = 0; i < result->count; i++) {
        block_record_t head = head_at(call, record[i].at);
        result->sources[i] = (int)record[i].from;
        result->bytes[i] = head.bytes;
        result->offsets[i] = end;
        if (head.is_long == 0) {
            ctn_exec_copy(
                call->group->exec, (unsigned char *)result->data + end,
                record_at(call, record[i].at) + sizeof(head), head.bytes);
        }
        end += head.bytes;
    }
}

/** Make the result of the received records. */
static catena_status_t receive(sparse_call_t *call, catena_received_t **made)
{
    ctn_vector_t sorted = {0}, none = {0};
    size_t bytes;
    bool flag = false, pending = false;
    catena_status_t status = CATENA_ERR_NO_MEMORY;
    if (sort(call, &sorted, &bytes) &&
        (*made = allocate(sorted.count, bytes)) != NULL) {
        unpack(call, &sorted, *made);
        status = call->any_long ? get_all(call, &sorted, *made, &pending)
                                : CATENA_OK;
    }
    if (pending) {
        ctn_exec_defer_free(call->group->exec, *made);
        *made = NULL;
    }
    ctn_vector_drop(&sorted);
    if (call->any_long) { /* sources keep their blocks until all have them */
        status = ctn_sparse_exchange_long(call->group, status, &none, &flag);
        ctn_vector_drop(&none);
        return status;
    }
    return ctn_group_result(call->group, status);
}

/* ---- the call ---- */

/** Run it on all ranks. @param status of this rank's arguments */
static catena_status_t exchange(sparse_call_t *call, catena_status_t status,
                                catena_received_t **out)
{
    catena_received_t *made = NULL;
    if (status == CATENA_OK) {
        status = reserve(call);
    }
    if (status == CATENA_OK) {
        fill(call);
    }
    status = ctn_sparse_exchange_long(call->group, status, &call->records,
                                      &call->any_long);
    if (status == CATENA_OK) {
        status = receive(call, &made);
    }
    ctn_vector_drop(&call->records);
    /* After another error, or if the group has failed, targets may still get
     * the blocks. */
    if (status == CATENA_OK || (ctn_status_of_call(status) &&
                                ctn_group_status(call->group) == CATENA_OK)) {
        ctn_scratch_free(call->group->exec, call->longs, call->long_bytes);
    }
    if (status == CATENA_OK) {
        *out = made;
    } else {
        free(made);
    }
    return status;
}

catena_status_t catena_sparse_exchange(catena_group_t *group, int target_count,
                                       const int targets[], const void *send,
                                       const size_t bytes[],
                                       const size_t offsets[],
                                       catena_received_t **out)
{
    CTN_ENTRY;
    if (CTN_UNUSABLE(group, CTN_GROUP)) {
        return CTN_REFUSE_NULL(NULL, group);
    }
    sparse_call_t call = {.group = group,
                          .count = target_count,
                          .targets = targets,
                          .send = send,
                          .bytes = bytes,
                          .offsets = offsets};
    ctn_recorded_call_t *record =
        ctn_call_enters(group, CTN_CODE_SPARSE_EXCHANGE, -1);
    catena_status_t status = check(__func__, &call, out);
    catena_status_t found = CATENA_OK;
    if (ctn_group_checks(group)) {
        const ctn_signature_t signature = {
            .root = -1,
            .code = CTN_CODE_SPARSE_EXCHANGE,
            .form = status == CATENA_OK ? 0 : CTN_SIGNED_REFUSED};
        found = ctn_check_call(group, &signature);
    }
    if (found == CATENA_OK) {
        status = exchange(&call, status, out);
    } else {
        status = status == CATENA_OK ? found : status;
    }
    ctn_call_returns(group->exec, record, CTN_RECORD_OVER, NULL);
    return status;
}

catena_status_t catena_received_free(catena_received_t **received)
{
    CTN_ENTRY;
    if (received == NULL) {
        return CTN_REFUSE_NULL(NULL, received);
    }
    free(*received);
    *received = NULL;
    return CATENA_OK;
}
