/* Building the topology of a group. Rounds: a few times ceil(log2 p), plus
 * as many for each pass of a split by hash, of which log8 of the number of
 * nodes and one or two more are expected. Memory: O(1) at a member; at a root
 * O(members on the node + log nodes). */

#include "topo/topo.h"

#include <stdlib.h>
#include <string.h>

#include "split/split.h"

static const char topo_key;

typedef struct build {
    /* argument */
    ctn_topo_t *topo;
    /* working */
    ctn_bins_t own;
    ctn_bins_t left;
    ctn_bins_t right;
    ctn_words_t say;
    ctn_words_t heard;
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

uint64_t ctn_offset_of(const ctn_exec_t *exec, const void *memory)
{
    uint64_t offset = 0;
    (void)ctn_heap_contains(exec->heap, memory, 1, &offset);
    return offset;
}

ctn_step_t ctn_build_now(ctn_op_t *op, ctn_op_t *child, ctn_built_t *state)
{
    if (child == NULL) {
        return ctn_op_fail(op, CATENA_ERR_NO_MEMORY);
    }
    *state = CTN_BUILDING;
    /* Call it, and come back to this phase when it is done. */
    (void)ctn_op_call(op, child);
    return CTN_STEP_MOVED;
}

/* ---- what the root says ---- */

typedef struct tell {
    ctn_topo_t *topo;
    ctn_words_t say;
    ctn_words_t left;
    ctn_words_t right;
    ctn_words_t *heard;
} tell_t;

static ctn_step_t spread(ctn_op_t *op)
{
    tell_t *tell = ctn_op_state(op);
    return ctn_op_call(op,
                       ctn_scan_create(op->exec, &tell->topo->node,
                                       ctn_fold_far, &tell->say, &tell->left,
                                       &tell->right, sizeof(ctn_words_t)));
}

/** The root's own words are not among what it heard. */
static ctn_step_t hear(ctn_op_t *op)
{
    tell_t *tell = ctn_op_state(op);
    *tell->heard = is_root(tell->topo) ? tell->say : tell->left;
    return CTN_STEP_NEXT;
}

static const ctn_phase_t tell_phases[] = {
    {"spread", spread}, {"hear", hear}, {NULL, NULL}};

static const ctn_algorithm_t tell_algorithm = {
    .name = "tell the node",
    .state_bytes = sizeof(tell_t),
    .phases = tell_phases,
};

ctn_op_t *ctn_tell_create(ctn_exec_t *exec, ctn_topo_t *topo,
                          const ctn_words_t *say, ctn_words_t *heard)
{
    ctn_op_t *op = ctn_op_create(exec, &tell_algorithm, NULL);
    if (op != NULL) {
        tell_t *tell = ctn_op_state(op);
        tell->topo = topo;
        tell->say = *say;
        tell->heard = heard;
    }
    return op;
}

/* ---- the chains ---- */

catena_status_t ctn_topo_link_node(catena_group_t *group,
                                   const uint32_t *local_ranks)
{
    ctn_topo_t *topo = ctn_topo_of(group);
    const ctn_site_t *site = group->exec->site;
    if (topo == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    ctn_chain_t *chain = &topo->node.chain;
    uint32_t i = site->local_rank;
    chain->rank = i;
    chain->size = site->local_size;
    chain->left = chain->right = CTN_NO_ADDRESS;
    if (i > 0) {
        chain->left = (ctn_address_t){local_ranks[i - 1], chain->self.offset};
    }
    if (i + 1 < chain->size) {
        chain->right = (ctn_address_t){local_ranks[i + 1], chain->self.offset};
    }
    return CATENA_OK;
}

static ctn_step_t begin(ctn_op_t *op)
{
    ctn_topo_t *topo = building(op);
    catena_group_t *group = topo->group;
    if (topo->node.chain.size > 0) { /* linked */
        return CTN_STEP_NEXT;
    }
    return ctn_op_call(op, ctn_split_create(op->exec, &group->lane, &topo->node,
                                            group->exec->site->node,
                                            strlen(group->exec->site->node)));
}

/** The roots are those of bin 1; the others only count. */
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
    if (!is_root(topo)) {
        return CTN_STEP_NEXT;
    }
    ctn_chain_t chain = ctn_bins_chain(&build->left, &build->right, 1,
                                       topo->leaders.chain.self);
    topo->leaders.chain = chain;
    topo->nodes = chain.size;
    topo->node_index = chain.rank;
    return chain.size > 1 ? ctn_op_call(op, ctn_ring_create(op->exec, topo))
                          : CTN_STEP_NEXT;
}

/* ---- the node's members ---- */

/** What the root's words hold. */
enum { WORD_PROCESS, WORD_OFFSET, WORD_NODE, WORD_NODES, WORD_CROWDED };

/** In the block, or, on large nodes, in memory of its own. */
static bool take_board(ctn_topo_t *topo, bool crowded)
{
    uint32_t n = ctn_topo_local_size(topo);
    topo->crowded = crowded;
    topo->shared =
        n <= CTN_BOARD_MEMBERS
            ? ctn_group_part(topo->group, ctn_group_layout(topo->group)->board)
            : ctn_heap_calloc(topo->group->exec->heap, 128,
                              ctn_board_bytes(n, crowded));
    return topo->shared != NULL;
}

static void give_board(ctn_exec_t *exec, ctn_topo_t *topo)
{
    uint32_t n = ctn_topo_local_size(topo);
    if (n > CTN_BOARD_MEMBERS) {
        ctn_exec_free(exec, topo->shared);
    } else if (topo->shared != NULL && exec->status == CATENA_OK) {
        memset(topo->shared, 0, ctn_board_bytes(n, topo->crowded));
    }
}

static ctn_step_t open_enrolment(ctn_op_t *op)
{
    build_t *build = ctn_op_state(op);
    ctn_topo_t *topo = build->topo;
    if (is_root(topo)) {
        bool crowded = op->exec->crowded;
        if (!take_board(topo, crowded)) {
            return ctn_op_fail(op, CATENA_ERR_NO_MEMORY);
        }
        build->say = (ctn_words_t){{
            [WORD_PROCESS] = topo->group->exec->site->process,
            [WORD_OFFSET] = ctn_offset_of(op->exec, topo->shared),
            [WORD_NODE] = topo->node_index,
            [WORD_NODES] = topo->nodes,
            [WORD_CROWDED] = crowded,
        }};
    }
    return ctn_op_call(
        op, ctn_tell_create(op->exec, topo, &build->say, &build->heard));
}

static ctn_step_t enrol(ctn_op_t *op)
{
    build_t *build = ctn_op_state(op);
    ctn_topo_t *topo = build->topo;
    catena_group_t *group = topo->group;
    const uint64_t *words = build->heard.word;
    topo->node_index = (uint32_t)words[WORD_NODE];
    topo->nodes = (uint32_t)words[WORD_NODES];
    ctn_member_t self = {
        .address = group->lane.chain.self,
        .rank = group->lane.chain.rank,
        .numa = group->exec->site->numa,
    };
    uint64_t place =
        words[WORD_OFFSET] + topo->node.chain.rank * sizeof(ctn_local_t);
    ctn_endpoint_t *root;
    catena_status_t status =
        ctn_exec_connect(op->exec, words[WORD_PROCESS], &root);
    if (status == CATENA_OK) {
        status = ctn_put_signal(
            root, &self, sizeof(self), place + offsetof(ctn_local_t, member),
            place + offsetof(ctn_local_t, ready), 1, &op->pending);
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
    const ctn_local_t *local = topo->shared;
    while (build->collected < ctn_topo_local_size(topo)) {
        if (ctn_word_load(&local[build->collected].ready) == 0) {
            return CTN_STEP_WAIT;
        }
        build->collected++;
    }
    return CTN_STEP_NEXT;
}

/** Said again, the same words mean that the table is complete. */
static ctn_step_t publish(ctn_op_t *op)
{
    build_t *build = ctn_op_state(op);
    return ctn_op_call(
        op, ctn_tell_create(op->exec, build->topo, &build->say, &build->heard));
}

/* ---- ready ---- */

static ctn_step_t settle(ctn_op_t *op)
{
    build_t *build = ctn_op_state(op);
    ctn_topo_t *topo = build->topo;
    const uint64_t *words = build->heard.word;
    ctn_endpoint_t *root;
    catena_status_t status =
        ctn_exec_connect(op->exec, words[WORD_PROCESS], &root);
    if (status != CATENA_OK) {
        return ctn_op_fail(op, status);
    }
    unsigned char *memory = ctn_pointer(root, words[WORD_OFFSET]);
    if (memory == NULL) {
        ctn_error(op->exec->log,
                  "ranks %llu and %llu have the same node name '%s' but no "
                  "common heap; the launcher contradicts itself",
                  (unsigned long long)words[WORD_PROCESS],
                  (unsigned long long)topo->group->exec->site->process,
                  topo->group->exec->site->node);
        return ctn_op_fail(op, CATENA_ERR_LAUNCHER);
    }
    topo->crowded = words[WORD_CROWDED] != 0;
    ctn_board_find(topo, memory, topo->crowded);
    status = ctn_topo_reach(topo);
    if (status != CATENA_OK) {
        return ctn_op_fail(op, status);
    }
    topo->state = CTN_BUILT;
    return CTN_STEP_NEXT;
}

static void finish(ctn_op_t *op)
{
    ctn_topo_t *topo = building(op);
    if (topo->state != CTN_BUILT) {
        topo->state = CTN_NEW;
    }
}

static const ctn_phase_t phases[] = {{"split by node", begin},
                                     {"find roots", find_roots},
                                     {"link roots", link_roots},
                                     {"open enrolment", open_enrolment},
                                     {"enrol", enrol},
                                     {"collect", collect},
                                     {"publish", publish},
                                     {"settle", settle},
                                     {NULL, NULL}};

static const ctn_algorithm_t build_algorithm = {
    .name = "topology",
    .state_bytes = sizeof(build_t),
    .phases = phases,
    .finish = finish,
};

/** What peers have granted. All else that the node shares has no numbers. */
static void clear(ctn_exec_t *exec, ctn_attachment_t *attachment)
{
    (void)exec;
    const ctn_topo_t *topo = (const ctn_topo_t *)attachment;
    size_t count = (size_t)CTN_RINGS * topo->group->lane.chain.size;
    for (size_t i = 0; topo->grants != NULL && i < count; i++) {
        ctn_word_store(&topo->grants[i].word, 0);
    }
}

static void release(ctn_exec_t *exec, ctn_attachment_t *attachment)
{
    ctn_topo_t *topo = (ctn_topo_t *)attachment;
    topo->group->topo = NULL;
    free(topo->rows);
    ctn_lane_release(exec, &topo->node);
    ctn_lane_release(exec, &topo->leaders);
    ctn_exec_free(exec, topo->grants);
    give_board(exec, topo);
    ctn_exec_free(exec, topo->shared_roster);
    free(topo->ring);
    free(topo->known);
    free(topo->peer);
    free(topo);
}

CTN_HOT ctn_topo_t *ctn_topo_of(catena_group_t *group)
{
    ctn_topo_t *topo = ctn_topo_known(group);
    if (topo != NULL) {
        return topo;
    }
    topo = calloc(1, sizeof(*topo));
    if (topo != NULL) {
        topo->attachment.key = &topo_key;
        topo->attachment.release = release;
        topo->attachment.clear = clear;
        topo->group = group;
        const ctn_block_layout_t *at = ctn_group_layout(group);
        ctn_lane_init(&topo->node, group->block, group->lane.chain.self,
                      at->node);
        ctn_lane_init(&topo->leaders, group->block, group->lane.chain.self,
                      at->leaders);
        ctn_group_attach(group, &topo->attachment);
        group->topo = &topo->attachment;
    }
    return topo;
}

ctn_step_t ctn_topo_need(ctn_op_t *op, catena_group_t *group, ctn_topo_t **out)
{
    ctn_topo_t *topo = ctn_topo_of(group);
    if (topo == NULL) {
        return ctn_op_fail(op, CATENA_ERR_NO_MEMORY);
    }
    if (topo->state == CTN_BUILT) {
        *out = topo;
        return CTN_STEP_NEXT;
    }
    if (topo->state == CTN_BUILDING || !ctn_op_is_oldest(op)) {
        return CTN_STEP_WAIT;
    }
    ctn_op_t *child = ctn_op_create(op->exec, &build_algorithm, NULL);
    if (child != NULL) {
        ((build_t *)ctn_op_state(child))->topo = topo;
    }
    return ctn_build_now(op, child, &topo->state);
}
