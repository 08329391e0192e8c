/* Builds the member table: what a node knows of all members of a group, for
 * algorithms in which every member communicates with every other. Rounds: 2
 * ceil(log2 nodes) among the node leaders, a few times ceil(log2 members) on
 * the node. Memory: O(p) per node for the member table, and at each member a
 * CTS table of O(p), both in the shared heap. Only pages that are written use
 * memory. */

#include <stdlib.h>
#include <string.h>

#include "group/chain_coll.h"
#include "topo/topo.h"

typedef struct members_build {
    ctn_build_t build; /* of the topology's table */
    /* working */
    uint64_t *cts_tables; /* offsets of those of the node's members */
    uint32_t *counts;     /* leader: number of members of each node */
    ctn_words_t outgoing; /* leader: what it broadcasts on the node */
    ctn_words_t received; /* from this broadcast */
} members_build_t;

/** The topology whose table an operation builds. */
static ctn_topo_t *building(ctn_op_t *op)
{
    return ((ctn_build_t *)ctn_op_state(op))->what;
}

static bool is_leader(const ctn_topo_t *topo)
{
    return ctn_topo_local_rank(topo) == 0;
}

/* ---- CTS table and eager rows ---- */

/** Return whether the node is small enough for eager rows and `read_flags`
 * words: each member polls the words of all others. */
static bool is_small(const ctn_topo_t *topo)
{
    return ctn_topo_local_size(topo) <= CTN_EAGER_ROWS_MEMBERS;
}

/** Return whether there are eager rows in one of the two locations: all of a
 * node side by side in the leader's memory, or each member's behind its CTS
 * table. */
static bool has_rows(const ctn_topo_t *topo, bool side_by_side)
{
    return is_small(topo) && topo->oversubscribed == side_by_side;
}

/** Return the bytes of the eager rows of so many writers. */
static size_t rows_bytes(const ctn_topo_t *topo, uint32_t writers)
{
    uint32_t n = ctn_topo_local_size(topo);
    size_t all = n * ctn_eager_rows_most_bytes(n, topo->oversubscribed);
    all = all < CTN_EAGER_ROWS_BYTES ? all : CTN_EAGER_ROWS_BYTES;
    return ctn_eager_rows_class_offset(ctn_eager_rows_class(all) + 1, writers);
}

/** Return the bytes of the CTS table and of the rows that follow it. */
static size_t cts_table_bytes(const ctn_topo_t *topo)
{
    return ctn_eager_rows_offset(topo->group->chain.place.size) +
           (has_rows(topo, false) ? rows_bytes(topo, 1) : 0);
}

/** Allocate this member's CTS table, and tell the node where it lies. */
static ctn_step_t open_cts_table(ctn_op_t *op)
{
    members_build_t *build = ctn_op_state(op);
    ctn_topo_t *topo = building(op);
    op->clean = topo->group->chain.place.size == 1;
    if (topo->cts_table == NULL) {
        topo->cts_table =
            ctn_heap_calloc(op->exec->heap, 128, cts_table_bytes(topo));
    }
    build->cts_tables =
        calloc(ctn_topo_local_size(topo), sizeof(*build->cts_tables));
    if (topo->cts_table == NULL || build->cts_tables == NULL) {
        return ctn_op_fail(op, CATENA_ERR_NO_MEMORY);
    }
    uint64_t *own = &build->cts_tables[ctn_topo_local_rank(topo)];
    *own = ctn_heap_offset(op->exec->heap, topo->cts_table);
    return ctn_op_call(op, ctn_chain_allgather_table(op->exec, &topo->node, own,
                                                     sizeof(*own),
                                                     build->cts_tables));
}

/* ---- all members, among the node leaders ---- */

/* In a node's count: its host is oversubscribed. */
#define OVERSUBSCRIBED (UINT32_C(1) << 31)

/** The leaders gather how many members each node has. */
static ctn_step_t gather_counts(ctn_op_t *op)
{
    members_build_t *build = ctn_op_state(op);
    ctn_topo_t *topo = building(op);
    if (!is_leader(topo)) {
        return CTN_STEP_NEXT;
    }
    build->counts =
        ctn_heap_calloc(op->exec->heap, 64, topo->nodes * sizeof(uint32_t));
    if (build->counts == NULL) {
        return ctn_op_fail(op, CATENA_ERR_NO_MEMORY);
    }
    uint32_t *own = &build->counts[topo->node_index];
    *own =
        ctn_topo_local_size(topo) | (topo->oversubscribed ? OVERSUBSCRIBED : 0);
    return ctn_op_call(op,
                       ctn_chain_allgather_table(op->exec, &topo->leaders, own,
                                                 sizeof(*own), build->counts));
}

/** The leader's memory: | member | first | by_rank | read_flags | rows |. These
 * are the offsets of the parts, and the size of all. */
typedef struct member_table_layout {
    size_t first, by_rank, read_flags, rows, bytes;
} member_table_layout_t;

static member_table_layout_t lay_out(const ctn_topo_t *topo)
{
    size_t size = topo->group->chain.place.size;
    member_table_layout_t at;
    at.first = ctn_line_up(size * sizeof(ctn_member_t));
    at.by_rank =
        at.first + ctn_line_up(((size_t)topo->nodes + 1) * sizeof(uint32_t));
    at.read_flags = at.by_rank + ctn_line_up(size * sizeof(uint32_t));
    at.rows = at.read_flags;
    if (is_small(topo)) {
        size_t n = ctn_topo_local_size(topo);
        at.rows += CTN_GENERATIONS * n *
                   ctn_read_flag_words((uint32_t)n, topo->oversubscribed) *
                   sizeof(uint64_t);
    }
    at.bytes = at.rows;
    if (has_rows(topo, true)) {
        at.rows = (at.rows + 4095) & ~(size_t)4095;
        at.bytes = at.rows + rows_bytes(topo, ctn_topo_local_size(topo));
    }
    return at;
}

/** Set this member's pointers into the leader's memory. */
static void point_into(ctn_topo_t *topo, unsigned char *memory)
{
    member_table_layout_t at = lay_out(topo);
    topo->member_table = (ctn_member_table_t){
        .nodes = topo->nodes,
        .size = topo->group->chain.place.size,
        .member = (const void *)memory,
        .first = (const void *)(memory + at.first),
        .by_rank = (const void *)(memory + at.by_rank),
    };
    topo->read_flags = is_small(topo) ? (void *)(memory + at.read_flags) : NULL;
    topo->side_by_side = has_rows(topo, true) ? memory + at.rows : NULL;
}

/** Fill in first[], and the members of this node. */
static void fill_own_part(ctn_topo_t *topo, const members_build_t *build)
{
    const uint32_t *counts = build->counts;
    unsigned char *memory = topo->shared_member_table;
    uint32_t *first = (void *)(memory + lay_out(topo).first);
    ctn_member_t *member = topo->shared_member_table;
    for (uint32_t b = 0; b < topo->nodes; b++) {
        first[b + 1] = first[b] + counts[b];
    }
    for (uint32_t i = 0; i < counts[topo->node_index]; i++) {
        ctn_member_t *local = &member[first[topo->node_index] + i];
        *local = topo->local[i];
        local->cts_table = build->cts_tables[i];
    }
}

/** The leaders gather the members of all nodes into the member table. */
static ctn_step_t gather_members(ctn_op_t *op)
{
    members_build_t *build = ctn_op_state(op);
    ctn_topo_t *topo = building(op);
    if (!is_leader(topo)) {
        return CTN_STEP_NEXT;
    }
    topo->shared_member_table =
        ctn_heap_calloc(op->exec->heap, 4096, lay_out(topo).bytes);
    if (topo->shared_member_table == NULL) {
        return ctn_op_fail(op, CATENA_ERR_NO_MEMORY);
    }
    for (uint32_t b = 0; b < topo->nodes; b++) {
        build->outgoing.word[1] |= build->counts[b] & OVERSUBSCRIBED;
        build->counts[b] &= ~OVERSUBSCRIBED;
    }
    point_into(topo, topo->shared_member_table);
    fill_own_part(topo, build);
    const ctn_member_table_t *table = &topo->member_table;
    return ctn_op_call(op,
                       ctn_chain_allgather_table(
                           op->exec, &topo->leaders,
                           &table->member[table->first[topo->node_index]],
                           ctn_topo_local_size(topo) * sizeof(*table->member),
                           topo->shared_member_table));
}

/** The leader fills in by_rank[], then broadcasts where the table lies, and
 * whether some host is oversubscribed. */
static ctn_step_t publish(ctn_op_t *op)
{
    members_build_t *build = ctn_op_state(op);
    ctn_topo_t *topo = building(op);
    if (is_leader(topo)) {
        unsigned char *memory = topo->shared_member_table;
        uint32_t *by_rank = (void *)(memory + lay_out(topo).by_rank);
        for (uint32_t i = 0; i < topo->member_table.size; i++) {
            by_rank[topo->member_table.member[i].rank] = i;
        }
        build->outgoing.word[0] = ctn_heap_offset(op->exec->heap, memory);
    }
    return ctn_op_call(op,
                       ctn_node_bcast_create(op->exec, topo, &build->outgoing,
                                             &build->received));
}

/** Look up the address of each local member's eager rows, if they follow its
 * CTS table. @return false: no memory */
static bool find_rows(ctn_topo_t *topo)
{
    uint32_t members = ctn_topo_local_size(topo);
    const ctn_member_table_t *member_table = &topo->member_table;
    if (!has_rows(topo, false)) {
        return true;
    }
    topo->rows = calloc(members, sizeof(*topo->rows));
    for (uint32_t i = 0; topo->rows != NULL && i < members; i++) {
        const ctn_member_t *member =
            &member_table->member[member_table->first[topo->node_index] + i];
        topo->rows[i] = ctn_pointer(
            topo->peer[i],
            member->cts_table + ctn_eager_rows_offset(member_table->size));
    }
    return topo->rows != NULL;
}

/** Set the smallest and the largest number of members on a node. */
static void count_members(ctn_member_table_t *member_table)
{
    member_table->least = ctn_member_table_count(member_table, 0);
    for (uint32_t node = 0; node < member_table->nodes; node++) {
        uint32_t n = ctn_member_table_count(member_table, node);
        member_table->least = n < member_table->least ? n : member_table->least;
        member_table->most = n > member_table->most ? n : member_table->most;
    }
}

static ctn_step_t finalize(ctn_op_t *op)
{
    members_build_t *build = ctn_op_state(op);
    ctn_topo_t *topo = building(op);
    point_into(topo, ctn_pointer(topo->peer[0], build->received.word[0]));
    topo->member_table.oversubscribed = build->received.word[1] != 0;
    count_members(&topo->member_table);
    if (!find_rows(topo)) {
        return ctn_op_fail(op, CATENA_ERR_NO_MEMORY);
    }
    topo->member_table_state = CTN_BUILT;
    return CTN_STEP_NEXT;
}

static void finish(ctn_op_t *op)
{
    members_build_t *build = ctn_op_state(op);
    ctn_exec_free(op->exec, build->counts);
    free(build->cts_tables);
    ctn_build_finish(op);
}

static const ctn_phase_t phases[] = {{"open CTS table", open_cts_table},
                                     {"gather counts", gather_counts},
                                     {"gather members", gather_members},
                                     {"publish", publish},
                                     {"finalize", finalize},
                                     {NULL, NULL}};

static const ctn_algorithm_t build_algorithm = {
    .name = "member table",
    .state_bytes = sizeof(members_build_t),
    .phases = phases,
    .finish = finish,
};

ctn_step_t ctn_member_table_need(ctn_op_t *op, catena_group_t *group,
                                 ctn_topo_t **out)
{
    ctn_topo_t *topo = NULL;
    ctn_step_t step = ctn_topo_need(op, group, &topo);
    if (step == CTN_STEP_NEXT) {
        step =
            ctn_op_need(op, &topo->member_table_state, topo, &build_algorithm);
    }
    if (step == CTN_STEP_NEXT) {
        *out = topo;
    }
    return step;
}
