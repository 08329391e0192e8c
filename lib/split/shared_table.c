/* One table of records for all simulated ranks, see split/shared_table.h. */

#include "split/shared_table.h"

#include <stdlib.h>
#include <string.h>

#include "exec/slot.h"

/* Shared by all simulated ranks, which run one at a time. */
struct ctn_shared_table {
    uint32_t count; /* of records: one for each rank */
    uint32_t users; /* members that have opened the table and not closed it */
    bool linked;    /* `place` is set */
    const ctn_record_t **list; /* [2 * count], for ctn_records_sort: in order of
                                  ranks; once linked, of colors and keys */
    ctn_chain_place_t *place;  /* [count]: the new places, by rank in the
                                  parent */
};

/* ---- the table ---- */

static bool allocate_lists(ctn_shared_table_t *shared, uint32_t count)
{
    shared->count = count;
    shared->list = calloc(2 * (size_t)count, sizeof(*shared->list));
    shared->place = calloc(count, sizeof(*shared->place));
    return shared->list != NULL && shared->place != NULL;
}

static void release(ctn_shared_table_t *shared)
{
    free(shared->list);
    free(shared->place);
    free(shared);
}

ctn_shared_table_t *ctn_shared_table_open(const ctn_split_args_t *args)
{
    ctn_exec_t *exec = args->by.exec;
    const ctn_chain_place_t *place = &args->parent->place;
    void **common = exec->local->ops->common(exec->local, place->size);
    if (common == NULL) {
        ctn_error(
            exec->log,
            "split: an allgather without data (--cost-only) needs a group of "
            "all ranks; this one has %u",
            place->size);
        return NULL;
    }
    ctn_shared_table_t *shared = *common;
    if (shared == NULL) {
        shared = calloc(1, sizeof(*shared));
        if (shared != NULL && !allocate_lists(shared, place->size)) {
            release(shared);
            shared = NULL;
        }
        if (shared == NULL) {
            return NULL;
        }
        *common = shared;
    }
    shared->list[place->rank] = args->record;
    if (++shared->users == place->size) {
        *common = NULL; /* the next split has its own */
    }
    return shared;
}

void ctn_shared_table_close(ctn_shared_table_t *shared)
{
    if (shared != NULL && --shared->users == 0) {
        release(shared);
    }
}

static ctn_address_t address_at(const ctn_shared_table_t *shared, uint32_t i)
{
    return ctn_record_address(shared->list[i]);
}

/** Set the places of the members with the records from `first` to before `end`,
 * which are those of one color. */
static void link_color(ctn_shared_table_t *shared, uint32_t first, uint32_t end)
{
    for (uint32_t i = first; i < end; i++) {
        shared->place[shared->list[i]->rank] = (ctn_chain_place_t){
            .size = end - first,
            .rank = i - first,
            .self = address_at(shared, i),
            .left = i > first ? address_at(shared, i - 1) : CTN_NO_ADDRESS,
            .right = i + 1 < end ? address_at(shared, i + 1) : CTN_NO_ADDRESS,
        };
    }
}

/** Sort the records and set all places, when the first member asks for its own:
 * later some member may have released its record. No simulated time passes
 * here; ctn_shared_table_place charges each member for its own work. */
static void link_once(ctn_shared_table_t *shared, ctn_order_by_t by)
{
    if (shared->linked) {
        return;
    }
    shared->linked = true;
    by.exec = NULL;
    ctn_records_sort(&by, shared->list, shared->count);
    uint32_t first = 0;
    for (uint32_t i = 1; i <= shared->count; i++) {
        if (i == shared->count ||
            ctn_record_compare_colors(&by, shared->list[i - 1],
                                      shared->list[i]) != 0) {
            link_color(shared, first, i);
            first = i;
        }
    }
}

ctn_chain_place_t ctn_shared_table_place(ctn_shared_table_t *shared,
                                         const ctn_split_args_t *args)
{
    link_once(shared, args->by);
    ctn_chain_place_t place = shared->place[args->record->rank];
    /* of a merge sort: ceil(log2) of the number of records */
    unsigned passes =
        place.size > 1 ? 32u - (unsigned)__builtin_clz(place.size - 1) : 0;
    ctn_exec_charge(args->by.exec, CTN_WORK_COMPARE,
                    shared->count + (size_t)place.size * passes);
    return place;
}

/* ---- an allgather on a chain (CH-4) whose messages have no content ---- */

enum { LEFT, RIGHT };

enum { PHASE_RTS = 1, PHASE_END = 5 };

/** Precedes a message. */
typedef struct split_rts {
    ctn_address_t beyond; /* the sender's partner on its other side: the
                             receiver's partner in the next round */
    uint64_t bytes;       /* of the message */
} split_rts_t;

typedef struct split_gather {
    /* arguments */
    const ctn_chain_place_t *place; /* of this member in the parent */
    size_t record_bytes;
    /* working */
    ctn_address_t partner[2]; /* the members 2^round away on both sides */
    ctn_address_t beyond[2];  /* the partners of the next round */
    unsigned round;
    uint64_t pending; /* gets that are not complete */
} split_gather_t;

static ctn_step_t begin(ctn_op_t *op)
{
    split_gather_t *gather = ctn_op_state(op);
    gather->partner[LEFT] = gather->place->left;
    gather->partner[RIGHT] = gather->place->right;
    return CTN_STEP_NEXT;
}

/** Return the number of records that member `rank` has, in this round, of its
 * own and those on one side of it: those of 2^round members, as far as they
 * exist. */
static uint64_t records(const split_gather_t *gather, uint32_t rank, int side)
{
    uint64_t existing =
        side == LEFT ? (uint64_t)rank + 1 : gather->place->size - rank;
    uint64_t reach = UINT64_C(1) << gather->round;
    return reach < existing ? reach : existing;
}

static ctn_step_t send_rts(ctn_op_t *op)
{
    split_gather_t *gather = ctn_op_state(op);
    if (!ctn_address_exists(gather->partner[LEFT]) &&
        !ctn_address_exists(gather->partner[RIGHT])) {
        return ctn_op_jump(op, PHASE_END);
    }
    for (int side = LEFT; side <= RIGHT; side++) {
        if (!ctn_address_exists(gather->partner[side])) {
            continue;
        }
        split_rts_t rts = {gather->partner[!side],
                           records(gather, gather->place->rank, !side) *
                               gather->record_bytes};
        op->exec->tally.bytes += rts.bytes;
        catena_status_t status =
            ctn_op_send(op, gather->partner[side],
                        2 * gather->round + (side == LEFT), &rts, sizeof(rts));
        if (status != CATENA_OK) {
            return ctn_op_fail(op, status);
        }
    }
    op->exec->tally.rounds++;
    return CTN_STEP_NEXT;
}

/** Let the time of fetching `bytes` from the partner on `side` pass: of a copy
 * on the node, of a get without data over the network. */
static catena_status_t fetch(ctn_op_t *op, split_gather_t *gather, int side,
                             size_t bytes)
{
    ctn_endpoint_t *endpoint;
    catena_status_t status =
        ctn_exec_connect(op->exec, gather->partner[side].process, &endpoint);
    if (status != CATENA_OK) {
        return status;
    }
    if (ctn_pointer(endpoint, 0) != NULL) {
        ctn_exec_charge(op->exec, CTN_WORK_COPY, bytes);
        return CATENA_OK;
    }
    return endpoint->transport->ops->get(endpoint, NULL, bytes, 0,
                                         &gather->pending);
}

static ctn_step_t fetch_both(ctn_op_t *op)
{
    split_gather_t *gather = ctn_op_state(op);
    for (int side = LEFT; side <= RIGHT; side++) {
        unsigned slot = 2 * gather->round + (unsigned)side;
        if (ctn_address_exists(gather->partner[side]) &&
            !ctn_op_arrived(op, slot)) {
            return CTN_STEP_WAIT;
        }
    }
    for (int side = LEFT; side <= RIGHT; side++) {
        split_rts_t rts;
        if (!ctn_address_exists(gather->partner[side])) {
            gather->beyond[side] = CTN_NO_ADDRESS;
            continue;
        }
        memcpy(&rts, ctn_op_slot(op, 2 * gather->round + (unsigned)side)->data,
               sizeof(rts));
        gather->beyond[side] = rts.beyond;
        catena_status_t status = fetch(op, gather, side, rts.bytes);
        if (status != CATENA_OK) {
            return ctn_op_fail(op, status);
        }
    }
    return CTN_STEP_NEXT;
}

/** Return the slot for the acknowledgement of the message to `side`: the second
 * half of the slots is for these. */
static unsigned acknowledgement(const split_gather_t *gather, int side)
{
    return CTN_CHAIN_SLOTS / 2 + 2 * gather->round + (unsigned)side;
}

static ctn_step_t acknowledge(ctn_op_t *op)
{
    split_gather_t *gather = ctn_op_state(op);
    if (gather->pending != 0) {
        return CTN_STEP_WAIT;
    }
    for (int side = LEFT; side <= RIGHT; side++) {
        catena_status_t status =
            ctn_address_exists(gather->partner[side])
                ? ctn_op_send(op, gather->partner[side],
                              acknowledgement(gather, !side), NULL, 0)
                : CATENA_OK;
        if (status != CATENA_OK) {
            return ctn_op_fail(op, status);
        }
    }
    return CTN_STEP_NEXT;
}

static ctn_step_t next_round(ctn_op_t *op)
{
    split_gather_t *gather = ctn_op_state(op);
    for (int side = LEFT; side <= RIGHT; side++) {
        if (ctn_address_exists(gather->partner[side]) &&
            !ctn_op_arrived(op, acknowledgement(gather, side))) {
            return CTN_STEP_WAIT;
        }
    }
    memcpy(gather->partner, gather->beyond, sizeof(gather->partner));
    gather->round++;
    return ctn_op_jump(op, PHASE_RTS);
}

static const ctn_phase_t phases[] = {
    {"begin", begin},           {"send RTS", send_rts},
    {"fetch", fetch_both},      {"acknowledge", acknowledge},
    {"next round", next_round}, {NULL, NULL}};

static const ctn_algorithm_t algorithm = {
    .name = "chain/allgather of sizes",
    .state_bytes = sizeof(split_gather_t),
    .phases = phases,
    .synchronizing = true,
};

ctn_op_t *ctn_shared_table_allgather(ctn_exec_t *exec, ctn_chain_t *chain,
                                     size_t bytes)
{
    ctn_op_t *op = ctn_op_create(exec, &algorithm, &chain->sequence);
    if (op != NULL) {
        split_gather_t *gather = ctn_op_state(op);
        gather->place = &chain->place;
        gather->record_bytes = bytes;
    }
    return op;
}
