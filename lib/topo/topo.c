/* Builds the topology of a group by messages. A split by the name of the node
 * makes the chain of the node's members; a scan of the group makes the chain of
 * the node leaders. Then the members of each node fill in the leader's table
 * and map its node area. Rounds: a few times ceil(log2 p), plus ceil(log2 p)
 * for each pass of the split by hash, which takes log8(nodes) + 1 or 2 passes
 * in expectation. Memory: O(1) at a member; O(members on the node + log nodes)
 * at a node leader. */

#include "topo/topo.h"

#include <stdlib.h>
#include <string.h>

#include "group/chain_coll.h"
#include "split/split.h"

static const char topo_key;

typedef struct topo_build {
    ctn_build_t build; /* of the topology */
    /* working */
    ctn_bins_t own; /* of the scan that finds the node leaders, as the next */
    ctn_bins_t left;
    ctn_bins_t right;
    ctn_words_t outgoing; /* leader: what it broadcasts on the node: WORD_... */
    ctn_words_t received; /* from this broadcast */
    uint32_t collected;   /* leader: members that have filled in their entry */
} topo_build_t;

/** The topology that an operation builds. */
static ctn_topo_t *building(ctn_op_t *op)
{
    return ((ctn_build_t *)ctn_op_state(op))->what;
}

static bool is_leader(const ctn_topo_t *topo)
{
    return topo->node.place.rank == 0;
}

/** Keep the value of the member that is farther to the left (ctn_combine_t). */
static void take_left(void *inout, const void *in, size_t bytes,
                      bool in_is_left, void *argument)
{
    (void)argument;
    if (in_is_left) {
        memcpy(inout, in, bytes);
    }
}

ctn_op_t *ctn_node_bcast_create(ctn_exec_t *exec, ctn_topo_t *topo,
                                const ctn_words_t *outgoing,
                                ctn_words_t *received)
{
    static const ctn_operator_t leftmost = {take_left, NULL};
    ctn_op_t *op = ctn_chain_inclusive_scan(
        exec, &topo->node, leftmost, outgoing, sizeof(*outgoing), received);
    if (op != NULL) {
        ((ctn_scan_t *)ctn_op_state(op))->double_scan.of_group = false;
    }
    return op;
}

/* ---- the chains ---- */

catena_status_t ctn_topo_link_node(catena_group_t *group,
                                   const uint32_t *local_ranks)
{
    ctn_topo_t *topo = ctn_topo_of(group);
    const ctn_locality_t *locality = group->exec->locality;
    if (topo == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    ctn_chain_place_t *place = &topo->node.place;
    uint32_t i = locality->local_rank;
    place->rank = i;
    place->size = locality->local_size;
    place->left = place->right = CTN_NO_ADDRESS;
    if (i > 0) {
        place->left = (ctn_address_t){local_ranks[i - 1], place->self.offset};
    }
    if (i + 1 < place->size) {
        place->right = (ctn_address_t){local_ranks[i + 1], place->self.offset};
    }
    return CATENA_OK;
}

/** Make the chain of the node's members. */
static ctn_step_t begin(ctn_op_t *op)
{
    ctn_topo_t *topo = building(op);
    catena_group_t *group = topo->group;
    if (topo->node.place.size > 0) { /* the world's, by ctn_topo_link_node */
        return CTN_STEP_NEXT;
    }
    return ctn_op_call(op,
                       ctn_split_create(op->exec, &group->chain, &topo->node,
                                        group->exec->locality->node,
                                        strlen(group->exec->locality->node)));
}

/** Node leaders are in bin 1; the other members only take part in the scan. */
static ctn_step_t find_leaders(ctn_op_t *op)
{
    topo_build_t *build = ctn_op_state(op);
    ctn_topo_t *topo = building(op);
    ctn_bins_set(&build->own, is_leader(topo), topo->leaders.place.self);
    return ctn_op_call(op,
                       ctn_scan_create(op->exec, &topo->group->chain,
                                       ctn_fold_bins, &build->own, &build->left,
                                       &build->right, sizeof(ctn_bins_t)));
}

/** A leader sets its place in the chain of leaders and builds the leader
 * ring. */
static ctn_step_t link_leaders(ctn_op_t *op)
{
    topo_build_t *build = ctn_op_state(op);
    ctn_topo_t *topo = building(op);
    if (!is_leader(topo)) {
        return CTN_STEP_NEXT;
    }
    ctn_chain_place_t place = ctn_bins_place(&build->left, &build->right, 1,
                                             topo->leaders.place.self);
    topo->leaders.place = place;
    topo->nodes = place.size;
    topo->node_index = place.rank;
    return place.size > 1
               ? ctn_op_call(op, ctn_leader_ring_create(op->exec, topo))
               : CTN_STEP_NEXT;
}

/* ---- the node's members ---- */

/** The words that the leader broadcasts: process and offset of its memory,
 * number of the node, number of nodes, oversubscribed. */
enum { WORD_PROCESS, WORD_OFFSET, WORD_NODE, WORD_NODES, WORD_OVERSUBSCRIBED };

/** At the leader: allocate the memory that the node shares (node.c): in the
 * control block, or separately on large nodes. @return false: no memory */
static bool allocate_node_area(ctn_topo_t *topo, bool oversubscribed)
{
    uint32_t n = ctn_topo_local_size(topo);
    ctn_heap_t *heap = topo->group->exec->heap;
    size_t bytes = ctn_topo_shared_bytes(n, oversubscribed);
    topo->oversubscribed = oversubscribed;
    if (n > CTN_NODE_AREA_MEMBERS) {
        topo->shared = ctn_heap_calloc(heap, 128, bytes);
        return topo->shared != NULL;
    }
    void *shared = ctn_group_block(topo->group)->shared;
    if (!ctn_heap_take(heap, shared, bytes)) {
        return false;
    }
    topo->shared = shared;
    return true;
}

static void release_node_area(ctn_exec_t *exec, ctn_topo_t *topo)
{
    uint32_t n = ctn_topo_local_size(topo);
    if (n > CTN_NODE_AREA_MEMBERS) {
        ctn_exec_free(exec, topo->shared);
    } else if (topo->shared != NULL && exec->status == CATENA_OK) {
        memset(topo->shared, 0, ctn_topo_shared_bytes(n, topo->oversubscribed));
    }
}

/** The leader broadcasts where members fill in their entries. */
static ctn_step_t open_enrolment(ctn_op_t *op)
{
    topo_build_t *build = ctn_op_state(op);
    ctn_topo_t *topo = building(op);
    if (is_leader(topo)) {
        bool oversubscribed = op->exec->oversubscribed;
        if (!allocate_node_area(topo, oversubscribed)) {
            return ctn_op_fail(op, CATENA_ERR_NO_MEMORY);
        }
        build->outgoing = (ctn_words_t){{
            [WORD_PROCESS] = topo->group->exec->locality->process,
            [WORD_OFFSET] = ctn_heap_offset(op->exec->heap, topo->shared),
            [WORD_NODE] = topo->node_index,
            [WORD_NODES] = topo->nodes,
            [WORD_OVERSUBSCRIBED] = oversubscribed,
        }};
    }
    return ctn_op_call(op,
                       ctn_node_bcast_create(op->exec, topo, &build->outgoing,
                                             &build->received));
}

/** Put this member's entry into the leader's table. */
static ctn_step_t enrol(ctn_op_t *op)
{
    topo_build_t *build = ctn_op_state(op);
    ctn_topo_t *topo = building(op);
    catena_group_t *group = topo->group;
    const uint64_t *words = build->received.word;
    topo->node_index = (uint32_t)words[WORD_NODE];
    topo->nodes = (uint32_t)words[WORD_NODES];
    ctn_member_t self = {
        .address = group->chain.place.self,
        .rank = group->chain.place.rank,
        .numa = group->exec->locality->numa,
    };
    uint64_t place =
        words[WORD_OFFSET] + topo->node.place.rank * sizeof(ctn_local_member_t);
    ctn_endpoint_t *leader;
    catena_status_t status =
        ctn_exec_connect(op->exec, words[WORD_PROCESS], &leader);
    if (status == CATENA_OK) {
        status = ctn_put_signal(leader, &self, sizeof(self),
                                place + offsetof(ctn_local_member_t, member),
                                place + offsetof(ctn_local_member_t, ready), 1,
                                &op->pending);
    }
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

/** The leader waits for the entries of all members. */
static ctn_step_t collect(ctn_op_t *op)
{
    topo_build_t *build = ctn_op_state(op);
    ctn_topo_t *topo = building(op);
    if (!is_leader(topo)) {
        return CTN_STEP_NEXT;
    }
    const ctn_local_member_t *local = topo->shared;
    return ctn_words_reach(&local->ready, sizeof(*local),
                           ctn_topo_local_size(topo), 1, 1, &build->collected)
               ? CTN_STEP_NEXT
               : CTN_STEP_WAIT;
}

/** Broadcast the same words again: now they say that the table is complete. */
static ctn_step_t publish(ctn_op_t *op)
{
    topo_build_t *build = ctn_op_state(op);
    return ctn_op_call(op, ctn_node_bcast_create(op->exec, building(op),
                                                 &build->outgoing,
                                                 &build->received));
}

/* ---- the result ---- */

/** Map the leader's memory, and connect to the members of the node. */
static ctn_step_t finalize(ctn_op_t *op)
{
    topo_build_t *build = ctn_op_state(op);
    ctn_topo_t *topo = building(op);
    const uint64_t *words = build->received.word;
    ctn_endpoint_t *leader;
    catena_status_t status =
        ctn_exec_connect(op->exec, words[WORD_PROCESS], &leader);
    if (status != CATENA_OK) {
        return ctn_op_fail(op, status);
    }
    unsigned char *memory = ctn_pointer(leader, words[WORD_OFFSET]);
    if (memory == NULL) {
        ctn_error(op->exec->log,
                  "ranks %llu and %llu have the same node name '%s' but no "
                  "common heap; the launcher contradicts itself",
                  (unsigned long long)words[WORD_PROCESS],
                  (unsigned long long)topo->group->exec->locality->process,
                  topo->group->exec->locality->node);
        return ctn_op_fail(op, CATENA_ERR_LAUNCHER);
    }
    topo->oversubscribed = words[WORD_OVERSUBSCRIBED] != 0;
    ctn_topo_map_shared(topo, memory);
    status = ctn_topo_connect(topo);
    if (status != CATENA_OK) {
        return ctn_op_fail(op, status);
    }
    topo->state = CTN_BUILT;
    return CTN_STEP_NEXT;
}

static const ctn_phase_t phases[] = {{"split by node", begin},
                                     {"find leaders", find_leaders},
                                     {"link leaders", link_leaders},
                                     {"open enrolment", open_enrolment},
                                     {"enrol", enrol},
                                     {"collect", collect},
                                     {"publish", publish},
                                     {"finalize", finalize},
                                     {NULL, NULL}};

static const ctn_algorithm_t build_algorithm = {
    .name = "topology",
    .state_bytes = sizeof(topo_build_t),
    .phases = phases,
    .finish = ctn_build_finish,
};

/** Called at an epoch barrier: zero the words of the CTS table. The other words
 * of the topology hold no numbers that repeat. */
static void clear(ctn_exec_t *exec, ctn_attachment_t *attachment)
{
    (void)exec;
    const ctn_topo_t *topo = (const ctn_topo_t *)attachment;
    size_t count = (size_t)CTN_GENERATIONS * topo->group->chain.place.size;
    for (size_t i = 0; topo->cts_table != NULL && i < count; i++) {
        ctn_word_store(&topo->cts_table[i].word, 0);
    }
}

static void release(ctn_exec_t *exec, ctn_attachment_t *attachment)
{
    ctn_topo_t *topo = (ctn_topo_t *)attachment;
    topo->group->frequent = NULL;
    free(topo->rows);
    ctn_chain_release(exec, &topo->node);
    ctn_chain_release(exec, &topo->leaders);
    ctn_exec_free(exec, topo->cts_table);
    release_node_area(exec, topo);
    ctn_exec_free(exec, topo->shared_member_table);
    for (unsigned i = 0; i < CTN_FLIGHT; i++) {
        free(topo->transfer[i]);
    }
    free(topo->leader_ring);
    free(topo->known);
    free(topo->peer);
    free(topo);
}

ctn_topo_t *ctn_topo_of(catena_group_t *group)
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
        const ctn_chain_place_t *place = &group->chain.place;
        ctn_chain_init(&topo->node, ctn_group_block(group), place->self,
                       offsetof(ctn_control_block_t, subchain[0]), place->size);
        ctn_chain_init(&topo->leaders, ctn_group_block(group), place->self,
                       offsetof(ctn_control_block_t, subchain[1]), place->size);
        ctn_group_attach(group, &topo->attachment);
        group->frequent = &topo->attachment;
    }
    return topo;
}

ctn_step_t ctn_topo_need(ctn_op_t *op, catena_group_t *group, ctn_topo_t **out)
{
    ctn_topo_t *topo = ctn_topo_of(group);
    if (topo == NULL) {
        return ctn_op_fail(op, CATENA_ERR_NO_MEMORY);
    }
    ctn_step_t step = ctn_op_need(op, &topo->state, topo, &build_algorithm);
    if (step == CTN_STEP_NEXT) {
        *out = topo;
    }
    return step;
}
