/* SPL-2: split by gathering through the memory of the node. It takes the place
 * of AllgatherMPI of Moody, Ahn, de Supinski (Exascale Algorithms for
 * Generalized MPI_Comm_split, EuroMPI 2011, section 3.1), which gathers the
 * records by MPI_Allgather. The members of a node publish their records in the
 * node area, and the node leaders gather those of all nodes, by dissemination
 * over the leader ring (Bruck, Ho, Kipnis, Upfal, Weathersby: Efficient
 * algorithms for all-to-all communications in multiport message-passing
 * systems, IEEE TPDS 8, 1997). A member that has seen all records also knows
 * the nodes of the new group, so it builds its topology here without messages.
 * Rounds: one on the node, ceil(log2 nodes) between nodes, one message in each.
 * Memory: the records once per node, and lists of O(N) at each member, 40 bytes
 * for each member of the parent. Differs from the paper: only records of the
 * own color are sorted (as in MPI libraries). */

#include <stdlib.h>
#include <string.h>

#include "coll/barrier.h"
#include "exec/schedule.h"
#include "group/stream.h"
#include "split/call/call.h"
#include "split/shared_table.h"
#include "split/verify.h"

/** What a member publishes about its call. In a valid split no member sets
 * FLAG_INVALID, and all members set the same of the other bits. Exception:
 * members without a color compare nothing and set none of FLAG_COMPARATORS. */
enum {
    FLAG_INVALID = 1 << 0,      /* invalid arguments */
    FLAG_INCONSISTENT = 1 << 1, /* ctn_split_may_be_inconsistent: a scan
                                   follows, in which all members take part */
    FLAG_COLOR_INT64 = 1 << 2,
    FLAG_COLOR_CALLBACK = 1 << 3,
    FLAG_KEY_INT64 = 1 << 4,
    FLAG_KEY_CALLBACK = 1 << 5,
    FLAG_COMPARATORS = FLAG_COLOR_INT64 | FLAG_COLOR_CALLBACK | FLAG_KEY_INT64 |
                       FLAG_KEY_CALLBACK
};

/** A published record with the location of its owner. */
typedef struct entry {
    uint32_t node;       /* its number in the parent */
    int16_t numa;        /* NUMA domain; -1: none */
    uint16_t call_flags; /* FLAG_... */
    ctn_record_t record;
} entry_t;

/* For parents of up to so many members the lists are in the operation's own
 * memory. */
enum { FEW = 16 };

typedef struct fast {
    ctn_split_call_t call; /* first */
    /* working */
    ctn_topo_t *topo; /* of the parent */
    entry_t *own; /* this member's entry, if it does not fit the node area */
    size_t own_bytes;
    bool long_records; /* some member of the node has such an entry */
    unsigned half;     /* 0 or 1: which half of published_record[] in the node
                          area. Consecutive splits alternate */
    /* With several nodes, at the node leaders: for each node a block of the
     * entries of its members, one behind the other; in simulations of costs
     * only (exec->drop_tables) a length without memory, as if the tables of all
     * nodes had one length. */
    ctn_stream_t tables;
    size_t node_bytes; /* of the own node's block */
    uint32_t nodes;    /* number of nodes whose blocks are here */
    ctn_rounds_t rounds;
    /* With several nodes, at all members: the leader's tables */
    const unsigned char *table;
    size_t table_bytes;
    ctn_shared_table_t *shared; /* in place of the lists in simulations without
                                   data; else NULL */
    uint16_t any_flags;         /* bits that some members have set */
    uint16_t all_flags;         /* bits that all members have set */
    uint32_t wrong_rank;        /* a member with FLAG_INVALID */
    ctn_split_verify_t verify;
    /* The members of the own color: */
    uint32_t members;          /* their number */
    const ctn_record_t **list; /* their records, in order; at first those of all
                                  members; then memory of ctn_topo_link. [2 *
                                  members of the parent] */
    ctn_known_member_t *known; /* their nodes and NUMA domains, in this order */
    void *memory;              /* of both lists; NULL: few, few_known */
    size_t memory_bytes;
    const ctn_record_t *few[2 * FEW];
    ctn_known_member_t few_known[FEW];
} fast_t;

_Static_assert(sizeof(fast_t) <= CTN_OP_STATE_BYTES, "fits an operation");

static bool is_leader(const fast_t *fast)
{
    return ctn_topo_local_rank(fast->topo) == 0;
}

/* ---- publishing ---- */

/** Return where the member with local rank i publishes its entry. */
static ctn_published_record_t *published_record_of(const fast_t *fast,
                                                   uint32_t i)
{
    return &fast->topo->published_record[fast->half *
                                             ctn_topo_local_size(fast->topo) +
                                         i];
}

/** Return what this member publishes about its call. */
static uint16_t call_flags(const fast_t *fast)
{
    const ctn_order_by_t *by = &fast->call.args.by;
    unsigned flags =
        ctn_split_may_be_inconsistent(&fast->call.args) ? FLAG_INCONSISTENT : 0;
    if (fast->call.wrong) {
        return FLAG_INVALID;
    }
    if (fast->call.args.record->color_bytes == CTN_NO_COLOR) {
        return (uint16_t)flags;
    }
    if (by->color != NULL) {
        flags |= by->color == catena_compare_int64 ? FLAG_COLOR_INT64
                                                   : FLAG_COLOR_CALLBACK;
    }
    if (by->key != NULL) {
        flags |= by->key == catena_compare_int64 ? FLAG_KEY_INT64
                                                 : FLAG_KEY_CALLBACK;
    }
    return (uint16_t)flags;
}

static void fill_entry(const fast_t *fast, entry_t *entry)
{
    const ctn_record_t *record = fast->call.args.record;
    entry->node = fast->topo->node_index;
    entry->numa = (int16_t)fast->call.parent->exec->locality->numa;
    entry->call_flags = call_flags(fast);
    memcpy(&entry->record, record, ctn_record_bytes(record));
}

/** Write this member's entry to the node area, or to memory of its own if it is
 * longer. */
static catena_status_t publish_record(ctn_op_t *op, fast_t *fast)
{
    ctn_published_record_t *published_record =
        published_record_of(fast, ctn_topo_local_rank(fast->topo));
    size_t bytes =
        offsetof(entry_t, record) + ctn_record_bytes(fast->call.args.record);
    op->exec->tally.messages++;
    op->exec->tally.bytes += bytes;
    published_record->bytes = bytes;
    published_record->offset = CTN_STAGED;
    if (bytes <= sizeof(published_record->data)) {
        fill_entry(fast, (entry_t *)(void *)published_record->data);
        return CATENA_OK;
    }
    fast->own = ctn_scratch_alloc(op->exec, bytes);
    if (fast->own == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    fast->own_bytes = bytes;
    fill_entry(fast, fast->own);
    published_record->offset = ctn_heap_offset(op->exec->heap, fast->own);
    return CATENA_OK;
}

/** Publish this member's entry; wait for those of the whole node. */
static ctn_step_t publish_own(ctn_op_t *op)
{
    fast_t *fast = ctn_op_state(op);
    ctn_step_t step = ctn_topo_need(op, fast->call.parent, &fast->topo);
    if (step != CTN_STEP_NEXT) {
        return step;
    }
    fast->half = fast->topo->splits++ % 2;
    catena_status_t status = publish_record(op, fast);
    if (status != CATENA_OK) {
        return ctn_op_fail(op, status);
    }
    op->exec->tally.rounds++;
    step = ctn_op_call(op, ctn_publish_fence_create(fast->call.parent));
    (void)ctn_topo_of(
        fast->call.made); /* for `link`, while other members publish */
    return step;
}

/** Return the entry that the member with local rank i has published. */
static const entry_t *entry_on(const fast_t *fast, uint32_t i)
{
    const ctn_published_record_t *published_record =
        published_record_of(fast, i);
    return published_record->offset == CTN_STAGED
               ? (const entry_t *)(const void *)published_record->data
               : ctn_pointer(fast->topo->peer[i], published_record->offset);
}

/* ---- between nodes ---- */

/** Copy the entries of the node's members into one table. In a simulation with
 * one table for all ranks it has a length only. */
static catena_status_t collect_node(ctn_op_t *op, fast_t *fast)
{
    uint32_t n = ctn_topo_local_size(fast->topo);
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < n; i++) {
        bytes += published_record_of(fast, i)->bytes;
    }
    if (fast->shared != NULL) {
        ctn_exec_charge(op->exec, CTN_WORK_COPY, bytes);
        fast->tables.bytes = ctn_stream_bytes(bytes);
        return CATENA_OK;
    }
    catena_status_t status =
        ctn_stream_reserve(op->exec, &fast->tables, ctn_stream_bytes(bytes));
    if (status == CATENA_OK) { /* the capacity is reserved */
        (void)ctn_stream_append(op->exec, &fast->tables, &bytes, sizeof(bytes));
        for (uint32_t i = 0; i < n; i++) {
            (void)ctn_stream_append(op->exec, &fast->tables, entry_on(fast, i),
                                    published_record_of(fast, i)->bytes);
        }
    }
    return status;
}

/** Prepare the table of this node. */
static ctn_step_t collect(ctn_op_t *op)
{
    fast_t *fast = ctn_op_state(op);
    const ctn_topo_t *topo = fast->topo;
    for (uint32_t i = 0; i < ctn_topo_local_size(topo); i++) {
        fast->long_records |=
            published_record_of(fast, i)->offset != CTN_STAGED;
    }
    if (op->exec->drop_tables) {
        fast->shared = ctn_shared_table_open(&fast->call.args);
        if (fast->shared == NULL) {
            return ctn_op_fail(op, CATENA_ERR_NO_MEMORY);
        }
    }
    if (topo->nodes == 1 || !is_leader(fast)) {
        return CTN_STEP_NEXT;
    }
    catena_status_t status =
        ctn_group_take_eager(fast->call.parent, ctn_rounds(topo->nodes));
    if (status == CATENA_OK) {
        status = collect_node(op, fast);
    }
    fast->node_bytes = fast->tables.bytes;
    fast->nodes = 1;
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

/** Return the number of blocks in a message of this round. */
static uint32_t blocks_sent(const fast_t *fast)
{
    uint32_t missing = fast->topo->nodes - fast->nodes;
    return fast->nodes < missing ? fast->nodes : missing;
}

/** Return the bytes of these blocks, the first ones here. */
static size_t bytes_sent(const fast_t *fast)
{
    uint32_t count = blocks_sent(fast);
    size_t bytes = 0;
    if (fast->tables.memory == NULL) {
        return count * fast->node_bytes;
    }
    for (uint32_t i = 0; i < count; i++) {
        (void)ctn_stream_next(fast->tables.memory, &bytes);
    }
    return bytes;
}

static bool set_round(ctn_op_t *op, unsigned index)
{
    fast_t *fast = ctn_op_state(op);
    ctn_rounds_t *rounds = &fast->rounds;
    if (fast->nodes == fast->topo->nodes) {
        return false;
    }
    const ctn_partner_t *partner = fast->topo->leaders.log->round[index].side;
    ctn_rounds_send(rounds, 0, partner[CTN_RIGHT].address, index,
                    fast->tables.memory, bytes_sent(fast));
    ctn_rounds_receive(rounds, 0, partner[CTN_LEFT].address, index,
                       (int64_t)partner[CTN_LEFT].rank);
    rounds->overwrites = true; /* the tables may move */
    if (fast->tables.memory == NULL) {
        rounds->handle[0].into = fast; /* nothing is written there */
    }
    ctn_op_set_network(op, true);
    return true;
}

/** Append the received blocks to those that are here. */
static catena_status_t take(ctn_op_t *op, unsigned index)
{
    fast_t *fast = ctn_op_state(op);
    const ctn_receive_handle_t *handle = &fast->rounds.handle[0];
    (void)index;
    fast->nodes += blocks_sent(fast);
    if (fast->tables.memory != NULL) {
        return ctn_stream_append(op->exec, &fast->tables, handle->data,
                                 handle->bytes);
    }
    ctn_exec_charge(op->exec, CTN_WORK_COPY, handle->bytes);
    fast->tables.bytes += handle->bytes;
    return CATENA_OK;
}

/** Gather the records of all nodes among the leaders. */
static ctn_step_t gather(ctn_op_t *op)
{
    static const ctn_rounds_schedule_t schedule = {.round = set_round,
                                                   .take = take};
    fast_t *fast = ctn_op_state(op);
    return fast->topo->nodes == 1 || !is_leader(fast)
               ? CTN_STEP_NEXT
               : ctn_rounds_run(op, &fast->rounds, &schedule);
}

/** The leader publishes where the table of all nodes lies; the other members
 * read it there. */
static ctn_step_t publish(ctn_op_t *op)
{
    fast_t *fast = ctn_op_state(op);
    const ctn_topo_t *topo = fast->topo;
    if (topo->nodes == 1) {
        return CTN_STEP_NEXT;
    }
    ctn_gathered_records_t *gathered = &topo->gathered[fast->half];
    if (is_leader(fast)) {
        gathered->offset = ctn_heap_offset(op->exec->heap, fast->tables.memory);
        gathered->bytes = fast->tables.bytes;
        ctn_exec_post(op->exec, &gathered->word, topo->splits);
    } else if (ctn_word_load(&gathered->word) != topo->splits) {
        op->waits_for = ctn_topo_local(topo, 0)->rank;
        return CTN_STEP_WAIT;
    }
    fast->table = ctn_pointer(topo->peer[0], gathered->offset);
    fast->table_bytes = gathered->bytes;
    return CTN_STEP_NEXT;
}

/* ---- the own color's members ---- */

/** Iterate over the entries of all members. @return the next one; NULL: no more
 * @param[in,out] at 0 at first; with one node a local rank, otherwise an offset
 * in the table
 * @param[in,out] end 0 at first; otherwise the end of a node's block */
static const entry_t *next_entry(const fast_t *fast, size_t *at, size_t *end)
{
    if (fast->topo->nodes == 1) {
        return *at < ctn_topo_local_size(fast->topo)
                   ? entry_on(fast, (uint32_t)(*at)++)
                   : NULL;
    }
    if (*at >= fast->table_bytes) {
        return NULL;
    }
    if (*at == *end) {
        ctn_rank_block_t block = ctn_stream_next(fast->table, end);
        *at = *end - block.bytes;
    }
    const entry_t *entry = (const void *)(fast->table + *at);
    *at += offsetof(entry_t, record) + ctn_record_bytes(&entry->record);
    return entry;
}

/** Allocate lists for all members of the parent. */
static bool allocate_lists(ctn_op_t *op, fast_t *fast)
{
    size_t n = fast->call.args.parent->place.size;
    fast->list = fast->few;
    fast->known = fast->few_known;
    if (n <= FEW) {
        return true;
    }
    size_t list_bytes = 2 * n * sizeof(*fast->list);
    fast->memory_bytes = list_bytes + n * sizeof(*fast->known);
    fast->memory = ctn_scratch_alloc(op->exec, fast->memory_bytes);
    fast->list = fast->memory;
    fast->known = (void *)((unsigned char *)fast->memory + list_bytes);
    return fast->memory != NULL;
}

/** Return the entry that contains `record`. */
static const entry_t *entry_of(const ctn_record_t *record)
{
    return (const void *)((const unsigned char *)record -
                          offsetof(entry_t, record));
}

/** Add the flags of one member to those of all. */
static void add_flags(fast_t *fast, const entry_t *entry)
{
    bool compares = entry->record.color_bytes != CTN_NO_COLOR;
    fast->any_flags |= entry->call_flags;
    fast->all_flags &=
        (uint16_t)(entry->call_flags | (compares ? 0 : FLAG_COMPARATORS));
    if ((entry->call_flags & FLAG_INVALID) != 0) {
        fast->wrong_rank = entry->record.rank;
    }
}

/** Return whether the flags of all members show an invalid split; all members
 * get the same result. */
static bool refused(const fast_t *fast)
{
    return (fast->any_flags & FLAG_INVALID) != 0 ||
           (fast->any_flags & ~fast->all_flags) != 0;
}

/** Find the members of the own color, in order, and the own place among them.
 */
static ctn_step_t sort(ctn_op_t *op)
{
    fast_t *fast = ctn_op_state(op);
    const ctn_split_args_t *s = &fast->call.args;
    if (fast->shared != NULL) {
        ctn_chain_set_place(s->chain, ctn_shared_table_place(fast->shared, s));
        return CTN_STEP_NEXT;
    }
    if (!allocate_lists(op, fast)) {
        return ctn_op_fail(op, CATENA_ERR_NO_MEMORY);
    }
    size_t at = 0;
    size_t end = 0;
    uint32_t n = 0;
    const entry_t *entry;
    while ((entry = next_entry(fast, &at, &end)) != NULL) {
        fast->list[n++] = &entry->record;
        add_flags(fast, entry);
    }
    if (refused(fast)) {
        return CTN_STEP_NEXT;
    }
    fast->members = ctn_records_own_part(&s->by, s->record, fast->list, n);
    s->chain->place = ctn_records_place(s->record, fast->list, fast->members);
    for (uint32_t i = 0; i < fast->members; i++) {
        entry = entry_of(fast->list[i]);
        fast->known[i] =
            (ctn_known_member_t){.address = ctn_record_address(&entry->record),
                                 .node = entry->node,
                                 .numa = entry->numa};
    }
    return CTN_STEP_NEXT;
}

/* ---- the end ---- */

/** Every member has sorted by itself. With a comparator of the application,
 * verify that neighbors agree on their links and on the list of members. */
static ctn_step_t compare_lists(ctn_op_t *op)
{
    fast_t *fast = ctn_op_state(op);
    const ctn_split_args_t *s = &fast->call.args;
    if (!ctn_split_may_be_inconsistent(s) || refused(fast)) {
        return CTN_STEP_NEXT;
    }
    uint64_t digest = 0;
    for (uint32_t i = 0; i < fast->members; i++) {
        digest = ctn_split_verify_digest(digest, fast->known[i].address);
    }
    return ctn_op_call(op, ctn_split_verify_create(op->exec, s->parent,
                                                   &fast->verify,
                                                   &s->chain->place, digest));
}

/** Build the topology of the new group from the list of its members. With an
 * inconsistent comparator members may agree on their links and still have
 * different lists, so with a comparator of the application the topology is left
 * to the first collective, which builds it with messages. */
static ctn_step_t link(ctn_op_t *op)
{
    fast_t *fast = ctn_op_state(op);
    if (!ctn_split_verified(&fast->verify)) {
        return ctn_op_fail(op, CATENA_ERR_ARG);
    }
    if (fast->shared != NULL || refused(fast) ||
        ctn_split_may_be_inconsistent(&fast->call.args) ||
        fast->call.args.record->color_bytes == CTN_NO_COLOR) {
        return CTN_STEP_NEXT;
    }
    catena_status_t status =
        ctn_topo_link(fast->call.made, fast->known, fast->topo->nodes,
                      (void *)fast->list, fast->topo->oversubscribed);
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

static void log_refusal(const fast_t *fast)
{
    const ctn_log_t *log = ctn_group_log_once(fast->call.parent);
    if (fast->call.wrong) { /* logged by the check of the arguments */
        return;
    }
    if ((fast->any_flags & FLAG_INVALID) != 0) {
        ctn_error(log, "split: invalid arguments on rank %u", fast->wrong_rank);
    } else {
        ctn_error(log, "split: comparators differ between ranks");
    }
}

/** Wait until the node's members have read this member's memory: the table, or
 * an entry that did not fit the node area. Entries in the node area need no
 * wait, because only the split after the next overwrites them. */
static ctn_step_t close_records(ctn_op_t *op)
{
    fast_t *fast = ctn_op_state(op);
    return fast->long_records || fast->topo->nodes > 1
               ? ctn_op_call(op, ctn_publish_fence_create(fast->call.parent))
               : CTN_STEP_NEXT;
}

/** Fail on all members if the split is invalid. */
static ctn_step_t judge(ctn_op_t *op)
{
    const fast_t *fast = ctn_op_state(op);
    if (!refused(fast)) {
        return CTN_STEP_NEXT;
    }
    log_refusal(fast);
    return ctn_op_fail(op, CATENA_ERR_ARG);
}

/** After other errors, which this member may have alone, other members may
 * still read `own` and `tables`, which are kept until the heap is destroyed. */
static void finish(ctn_op_t *op)
{
    fast_t *fast = ctn_op_state(op);
    ctn_rounds_release(op, &fast->rounds);
    if (op->status == CATENA_ERR_ARG && !refused(fast)) {
        ctn_split_log_inconsistent(fast->call.parent);
    }
    if (op->status == CATENA_OK || op->status == CATENA_ERR_ARG) {
        ctn_scratch_free(op->exec, fast->own, fast->own_bytes);
        ctn_stream_release(op->exec, &fast->tables);
    }
    ctn_scratch_free(op->exec, fast->memory, fast->memory_bytes);
    ctn_shared_table_close(fast->shared);
    ctn_split_finish(op);
}

static const ctn_phase_t phases[] = {
    {"publish record", publish_own},
    {"collect", collect},
    {"gather", gather},
    {"publish", publish},
    {"sort", sort},
    {"compare lists", compare_lists},
    {"link", link},
    {"close", close_records},
    {"judge", judge},
    {"drop undefined", ctn_split_drop_undefined},
    {"gather members", ctn_split_gather_members},
    {NULL, NULL}};

static const ctn_algorithm_t fast_algorithm = {
    .name = "split/allgather-fast",
    .state_bytes = offsetof(fast_t, few),
    .phases = phases,
    .synchronizing = true,
    .finish = finish,
};

ctn_step_t ctn_split_fast(ctn_op_t *op)
{
    fast_t *fast = ctn_op_state(op);
    memset(&fast->topo, 0, offsetof(fast_t, few) - offsetof(fast_t, topo));
    fast->all_flags = UINT16_MAX;
    return ctn_op_become(op, &fast_algorithm);
}
