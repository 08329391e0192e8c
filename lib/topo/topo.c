/* Building the topology of a group. Rounds: a few times ceil(log2 p), plus
 * log4 of the number of nodes, expected. Memory: a member O(members on the
 * node); a node O(p), in the shared heap. */

#include "topo/topo.h"

#include <stdlib.h>
#include <string.h>

static const char topo_key;

/** Tables of a root while its node's members enrol. */
typedef struct enrolment {
    uint64_t ready;
    uint64_t unused;
    ctn_member_t member;
} enrolment_t;

typedef struct build {
    /* argument */
    ctn_topo_t *topo;
    /* working */
    ctn_bins_t own;
    ctn_bins_t left;
    ctn_bins_t right;
    ctn_words_t say;
    ctn_words_t heard;
    ctn_words_t ignored;
    uint32_t *counts; /* root: members of each node */
    uint32_t collected;
} build_t;

static ctn_topo_t *building(ctn_op_t *op)
{
    return ((build_t *)ctn_op_state(op))->topo;
}

static bool is_root(const ctn_topo_t *topo)
{
    return topo->node.chain.rank == 0;
}

static uint64_t offset_of(const ctn_exec_t *exec, const void *memory)
{
    uint64_t offset = 0;
    (void)ctn_heap_contains(exec->heap, memory, 1, &offset);
    return offset;
}

/* ---- the chains ---- */

static ctn_step_t begin(ctn_op_t *op)
{
    ctn_topo_t *topo = building(op);
    catena_group_t *group = topo->group;
    ctn_exec_t *exec = op->exec;
    uint64_t process = group->site->process;
    size_t grants = CTN_RINGS * (size_t)group->lane.chain.size;
    topo->grants =
        ctn_heap_calloc(exec->heap, 64, grants * sizeof(ctn_grant_t));
    if (topo->grants == NULL ||
        ctn_lane_create(exec, &topo->node, CTN_SERVICE_BLOCK_BYTES, process) !=
            CATENA_OK ||
        ctn_lane_create(exec, &topo->leaders, CTN_SERVICE_BLOCK_BYTES,
                        process) != CATENA_OK) {
        return ctn_op_fail(op, CATENA_ERR_NO_MEMORY);
    }
    topo->grants_offset = offset_of(exec, topo->grants);
    return ctn_op_call(op, ctn_split_create(exec, &group->lane, &topo->node,
                                            group->site->node,
                                            strlen(group->site->node)));
}

static ctn_step_t find_roots(ctn_op_t *op)
{
    build_t *build = ctn_op_state(op);
    ctn_topo_t *topo = build->topo;
    ctn_bins_set(&build->own, is_root(topo), topo->leaders.chain.self);
    return ctn_op_call(op,
                       ctn_scan_create(op->exec, &topo->group->lane,
                                       ctn_fold_bins, &build->own, &build->left,
                                       &build->right, sizeof(ctn_bins_t)));
}

static ctn_step_t link_roots(ctn_op_t *op)
{
    build_t *build = ctn_op_state(op);
    ctn_topo_t *topo = build->topo;
    topo->leaders.chain = ctn_bins_chain(
        &build->left, &build->right, is_root(topo), topo->leaders.chain.self);
    return CTN_STEP_NEXT;
}

/* ---- the node's members ---- */

/** What the root says, all its node hears: build->heard. */
static ctn_step_t tell_node(ctn_op_t *op, uint64_t a, uint64_t b, uint64_t c,
                            uint64_t d)
{
    build_t *build = ctn_op_state(op);
    build->say = (ctn_words_t){{a, b, c, d}};
    return ctn_op_call(op, ctn_scan_create(op->exec, &build->topo->node,
                                           ctn_fold_first, &build->say,
                                           &build->heard, &build->ignored,
                                           sizeof(ctn_words_t)));
}

static ctn_step_t open_enrolment(ctn_op_t *op)
{
    ctn_topo_t *topo = building(op);
    if (!is_root(topo)) {
        return tell_node(op, 0, 0, 0, 0);
    }
    topo->enrolled = ctn_heap_calloc(
        op->exec->heap, 64, ctn_topo_local_size(topo) * sizeof(enrolment_t));
    if (topo->enrolled == NULL) {
        return ctn_op_fail(op, CATENA_ERR_NO_MEMORY);
    }
    return tell_node(op, topo->group->site->process,
                     offset_of(op->exec, topo->enrolled),
                     topo->leaders.chain.rank, topo->leaders.chain.size);
}

/** The words of the node's root: its own are not among what it heard. */
static const ctn_words_t *root_words(build_t *build)
{
    return is_root(build->topo) ? &build->say : &build->heard;
}

static ctn_step_t enrol(ctn_op_t *op)
{
    build_t *build = ctn_op_state(op);
    ctn_topo_t *topo = build->topo;
    catena_group_t *group = topo->group;
    const ctn_words_t *words = root_words(build);
    topo->node_index = (uint32_t)words->word[2];
    topo->roster.nodes = (uint32_t)words->word[3];
    topo->roster.size = group->lane.chain.size;
    ctn_member_t self = {
        .address = group->lane.chain.self,
        .grants = topo->grants_offset,
        .rank = group->lane.chain.rank,
        .numa = group->site->numa,
    };
    uint64_t place =
        words->word[1] + topo->node.chain.rank * sizeof(enrolment_t);
    ctn_endpoint_t *root;
    catena_status_t status = ctn_exec_connect(op->exec, words->word[0], &root);
    if (status == CATENA_OK) {
        status = ctn_put_signal(
            root, &self, sizeof(self), place + offsetof(enrolment_t, member),
            place + offsetof(enrolment_t, ready), 1, &op->pending);
    }
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

static ctn_step_t collect(ctn_op_t *op)
{
    build_t *build = ctn_op_state(op);
    ctn_topo_t *topo = build->topo;
    if (!is_root(topo)) {
        return CTN_STEP_NEXT;
    }
    const enrolment_t *enrolled = topo->enrolled;
    while (build->collected < ctn_topo_local_size(topo)) {
        if (ctn_word_load(&enrolled[build->collected].ready) == 0) {
            return CTN_STEP_WAIT;
        }
        build->collected++;
    }
    return CTN_STEP_NEXT;
}

/* ---- all members, among the roots ---- */

static ctn_step_t gather_among_roots(ctn_op_t *op, void *table,
                                     size_t record_bytes, const uint32_t *first)
{
    ctn_topo_t *topo = building(op);
    ctn_op_t *child =
        ctn_op_create(op->exec, &ctn_gather_algorithm, &topo->leaders.channel);
    if (child == NULL) {
        return ctn_op_fail(op, CATENA_ERR_NO_MEMORY);
    }
    ctn_gather_t *gather = ctn_op_state(child);
    gather->chain = &topo->leaders.chain;
    gather->memory = table;
    gather->table = offset_of(op->exec, table);
    gather->record_bytes = record_bytes;
    gather->first = first;
    return ctn_op_call(op, child);
}

static ctn_step_t gather_counts(ctn_op_t *op)
{
    build_t *build = ctn_op_state(op);
    ctn_topo_t *topo = build->topo;
    if (!is_root(topo)) {
        return CTN_STEP_NEXT;
    }
    build->counts = ctn_heap_calloc(op->exec->heap, 64,
                                    topo->roster.nodes * sizeof(uint32_t));
    if (build->counts == NULL) {
        return ctn_op_fail(op, CATENA_ERR_NO_MEMORY);
    }
    build->counts[topo->node_index] = ctn_topo_local_size(topo);
    return gather_among_roots(op, build->counts, sizeof(uint32_t), NULL);
}

/* The root's shared memory: | members | first | by_rank | board |. */

static size_t line_up(size_t bytes)
{
    return (bytes + 127) & ~(size_t)127;
}

typedef struct shared_layout {
    size_t first, by_rank, arrived, released, fenced, post, departed, bytes;
    size_t stride;
} shared_layout_t;

/** On crowded hosts each poll follows a switch of process, so few lines are
 * best; else every writer has lines of its own (two: prefetching pairs). */
static shared_layout_t lay_out(const ctn_topo_t *topo, bool crowded)
{
    shared_layout_t at;
    size_t n = ctn_topo_local_size(topo);
    at.stride = crowded ? 1 : 16;
    size_t words = line_up(n * at.stride * sizeof(uint64_t));
    at.first = line_up(topo->roster.size * sizeof(ctn_member_t));
    at.by_rank =
        at.first + line_up((topo->roster.nodes + 1) * sizeof(uint32_t));
    at.arrived = at.by_rank + line_up(topo->roster.size * sizeof(uint32_t));
    at.released = at.arrived + words;
    at.fenced = at.released + 128;
    at.post = at.fenced + words;
    at.departed = at.post + line_up(CTN_RINGS * n * sizeof(ctn_post_t));
    at.bytes = at.departed + CTN_RINGS * words;
    return at;
}

static void point_into(ctn_topo_t *topo, unsigned char *memory, bool crowded)
{
    shared_layout_t at = lay_out(topo, crowded);
    topo->roster.member = (const void *)memory;
    topo->roster.first = (const void *)(memory + at.first);
    topo->roster.by_rank = (const void *)(memory + at.by_rank);
    topo->board.arrived = (void *)(memory + at.arrived);
    topo->board.released = (void *)(memory + at.released);
    topo->board.fenced = (void *)(memory + at.fenced);
    topo->board.post = (void *)(memory + at.post);
    topo->board.departed = (void *)(memory + at.departed);
    topo->board.stride = at.stride;
}

static void fill_own_part(ctn_topo_t *topo, const uint32_t *counts,
                          bool crowded)
{
    unsigned char *memory = topo->shared;
    uint32_t *first = (void *)(memory + lay_out(topo, crowded).first);
    ctn_member_t *member = topo->shared;
    for (uint32_t b = 0; b < topo->roster.nodes; b++) {
        first[b + 1] = first[b] + counts[b];
    }
    const enrolment_t *enrolled = topo->enrolled;
    for (uint32_t i = 0; i < counts[topo->node_index]; i++) {
        member[first[topo->node_index] + i] = enrolled[i].member;
    }
}

static ctn_step_t gather_members(ctn_op_t *op)
{
    build_t *build = ctn_op_state(op);
    ctn_topo_t *topo = build->topo;
    if (!is_root(topo)) {
        return CTN_STEP_NEXT;
    }
    bool crowded = op->exec->crowded;
    topo->shared =
        ctn_heap_calloc(op->exec->heap, 128, lay_out(topo, crowded).bytes);
    if (topo->shared == NULL) {
        return ctn_op_fail(op, CATENA_ERR_NO_MEMORY);
    }
    point_into(topo, topo->shared, crowded);
    fill_own_part(topo, build->counts, crowded);
    return gather_among_roots(op, topo->shared, sizeof(ctn_member_t),
                              topo->roster.first);
}

static ctn_step_t publish(ctn_op_t *op)
{
    ctn_topo_t *topo = building(op);
    if (!is_root(topo)) {
        return tell_node(op, 0, 0, 0, 0);
    }
    unsigned char *memory = topo->shared;
    size_t at = lay_out(topo, op->exec->crowded).by_rank;
    uint32_t *by_rank = (void *)(memory + at);
    for (uint32_t i = 0; i < topo->roster.size; i++) {
        by_rank[topo->roster.member[i].rank] = i;
    }
    return tell_node(op, topo->group->site->process,
                     offset_of(op->exec, memory), op->exec->crowded, 0);
}

/* ---- ready ---- */

static catena_status_t reach_peers(ctn_op_t *op, ctn_topo_t *topo)
{
    uint32_t n = ctn_topo_local_size(topo);
    topo->peer = calloc(n, sizeof(ctn_endpoint_t *));
    if (topo->peer == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    for (uint32_t i = 0; i < n; i++) {
        uint64_t process = ctn_topo_local(topo, i)->address.process;
        catena_status_t status =
            ctn_exec_connect(op->exec, process, &topo->peer[i]);
        if (status != CATENA_OK) {
            return status;
        }
    }
    return CATENA_OK;
}

static ctn_step_t settle(ctn_op_t *op)
{
    build_t *build = ctn_op_state(op);
    ctn_topo_t *topo = build->topo;
    const ctn_words_t *words = root_words(build);
    ctn_endpoint_t *root;
    catena_status_t status = ctn_exec_connect(op->exec, words->word[0], &root);
    if (status != CATENA_OK) {
        return ctn_op_fail(op, status);
    }
    unsigned char *memory = ctn_pointer(root, words->word[1]);
    if (memory == NULL) {
        ctn_error(op->exec->log,
                  "ranks %llu and %llu have the same node name '%s' but no "
                  "common heap; the launcher contradicts itself",
                  (unsigned long long)words->word[0],
                  (unsigned long long)topo->group->site->process,
                  topo->group->site->node);
        return ctn_op_fail(op, CATENA_ERR_LAUNCHER);
    }
    point_into(topo, memory, words->word[2] != 0);
    status = reach_peers(op, topo);
    if (status != CATENA_OK) {
        return ctn_op_fail(op, status);
    }
    topo->state = CTN_TOPO_READY;
    return CTN_STEP_NEXT;
}

static void finish(ctn_op_t *op)
{
    build_t *build = ctn_op_state(op);
    ctn_topo_t *topo = build->topo;
    ctn_heap_free(op->exec->heap, build->counts);
    ctn_heap_free(op->exec->heap, topo->enrolled);
    topo->enrolled = NULL;
    if (topo->state != CTN_TOPO_READY) {
        topo->state = CTN_TOPO_NEW;
    }
}

static const ctn_phase_t phases[] = {{"split by node", begin},
                                     {"find roots", find_roots},
                                     {"link roots", link_roots},
                                     {"open enrolment", open_enrolment},
                                     {"enrol", enrol},
                                     {"collect", collect},
                                     {"gather counts", gather_counts},
                                     {"gather members", gather_members},
                                     {"publish", publish},
                                     {"settle", settle},
                                     {NULL, NULL}};

static const ctn_algorithm_t build_algorithm = {
    .name = "topology",
    .state_bytes = sizeof(build_t),
    .phases = phases,
    .finish = finish,
};

static void release(ctn_exec_t *exec, ctn_attachment_t *attachment)
{
    ctn_topo_t *topo = (ctn_topo_t *)attachment;
    ctn_lane_release(exec, &topo->node);
    ctn_lane_release(exec, &topo->leaders);
    ctn_heap_free(exec->heap, topo->grants);
    ctn_heap_free(exec->heap, topo->shared);
    free(topo->peer);
    free(topo);
}

ctn_topo_t *ctn_topo_of(catena_group_t *group)
{
    ctn_attachment_t *found = ctn_group_find(group, &topo_key);
    if (found != NULL) {
        return (ctn_topo_t *)found;
    }
    ctn_topo_t *topo = calloc(1, sizeof(*topo));
    if (topo != NULL) {
        topo->attachment.key = &topo_key;
        topo->attachment.release = release;
        topo->group = group;
        ctn_group_attach(group, &topo->attachment);
    }
    return topo;
}

ctn_step_t ctn_topo_need(ctn_op_t *op, catena_group_t *group, ctn_topo_t **out)
{
    ctn_topo_t *topo = ctn_topo_of(group);
    if (topo == NULL) {
        return ctn_op_fail(op, CATENA_ERR_NO_MEMORY);
    }
    if (topo->state == CTN_TOPO_READY) {
        *out = topo;
        return CTN_STEP_NEXT;
    }
    if (topo->state == CTN_TOPO_BUILDING || !ctn_op_is_oldest(op)) {
        return CTN_STEP_WAIT;
    }
    topo->state = CTN_TOPO_BUILDING;
    ctn_op_t *child = ctn_op_create(op->exec, &build_algorithm, NULL);
    if (child == NULL) {
        return ctn_op_fail(op, CATENA_ERR_NO_MEMORY);
    }
    ((build_t *)ctn_op_state(child))->topo = topo;
    /* Call it, and come back to this phase when it is done. */
    (void)ctn_op_call(op, child);
    return CTN_STEP_MOVED;
}
