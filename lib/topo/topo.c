/* Builds the topology of a group by messages. A split by the name of the node
 * makes the chain of the node's members; a scan of the group makes the chain of
 * the node leaders, which find their partners in the leader ring. Then the
 * members of each node list each other, and map the memory of their leader.
 * Rounds: a few times ceil(log2 p), plus ceil(log2 p) for each pass of the
 * split by hash, which takes log8(nodes) + 1 or 2 passes in expectation.
 * Memory: O(members on the node) at a member, and O(log nodes) at a node
 * leader. */

#include "topo/topo.h"

#include <stdlib.h>
#include <string.h>

#include "group/chain_coll.h"
#include "split/split.h"

static const char topo_key;

/** The value of the scan that finds the node leaders: those on one side. */
typedef struct leaders {
    ctn_bin_t nearest;
    uint32_t unused;
    uint64_t farthest; /* packed address */
} leaders_t;

/** What each member of a node sends to the other members. */
typedef struct enrolment {
    ctn_member_t member;
    /* Significant at the leader: */
    uint64_t shared;         /* offset of the memory that the node shares */
    uint32_t node_index;     /* as in ctn_topo_t */
    uint32_t nodes;          /* likewise */
    uint64_t oversubscribed; /* likewise */
} enrolment_t;

typedef struct topo_build {
    ctn_build_t build; /* of the topology */
    /* working */
    leaders_t own, left, right; /* of the scan */
    enrolment_t *enrolment;     /* of the members of the node */
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
    op->clean = group->chain.place.size == 1;
    if (topo->node.place.size > 0) { /* the world's, by ctn_topo_link_node */
        return CTN_STEP_NEXT;
    }
    return ctn_op_call(op,
                       ctn_split_create(op->exec, &group->chain, &topo->node,
                                        group->exec->locality->node,
                                        strlen(group->exec->locality->node)));
}

/** The fold of the scan (ctn_fold_t); the same in both directions. */
static void fold_leaders(void *inout, const void *in, int in_is_left)
{
    (void)in_is_left;
    leaders_t *nearer = inout;
    const leaders_t *farther = in;
    ctn_bins_join(&nearer->nearest, &farther->nearest, 1);
    if (farther->nearest.count > 0) {
        nearer->farthest = farther->farthest;
    }
}

/** Find the leaders; the other members only take part in the scan. */
static ctn_step_t find_leaders(ctn_op_t *op)
{
    topo_build_t *build = ctn_op_state(op);
    ctn_topo_t *topo = building(op);
    ctn_address_t self = topo->leaders.place.self;
    if (is_leader(topo)) {
        build->own = (leaders_t){.nearest = ctn_bin_of_one(self),
                                 .farthest = ctn_address_pack(self)};
    }
    return ctn_op_call(op,
                       ctn_scan_create(op->exec, &topo->group->chain,
                                       fold_leaders, &build->own, &build->left,
                                       &build->right, sizeof(leaders_t)));
}

/** A leader sets its place in the chain of leaders and builds the leader
 * ring. */
static ctn_step_t link_leaders(ctn_op_t *op)
{
    topo_build_t *build = ctn_op_state(op);
    ctn_topo_t *topo = building(op);
    ctn_chain_place_t *place = &topo->leaders.place;
    if (!is_leader(topo)) {
        return CTN_STEP_NEXT;
    }
    *place =
        ctn_bin_place(&build->left.nearest, &build->right.nearest, place->self);
    topo->nodes = place->size;
    topo->node_index = place->rank;
    return place->size > 1
               ? ctn_op_call(op, ctn_log_ring_create(
                                     op->exec, &topo->leaders,
                                     ctn_address_unpack(build->left.farthest),
                                     ctn_address_unpack(build->right.farthest),
                                     topo->group->chain.place.rank))
               : CTN_STEP_NEXT;
}

/* ---- the node's members ---- */

static size_t enrolments_bytes(const ctn_topo_t *topo)
{
    return ctn_topo_local_size(topo) * sizeof(enrolment_t);
}

/** Gather the records of the node's members; the leader first takes the memory
 * that the node shares. */
static ctn_step_t enrol(ctn_op_t *op)
{
    topo_build_t *build = ctn_op_state(op);
    ctn_topo_t *topo = building(op);
    const catena_group_t *group = topo->group;
    build->enrolment = calloc(1, enrolments_bytes(topo));
    topo->oversubscribed = op->exec->oversubscribed;
    if (build->enrolment == NULL ||
        (is_leader(topo) && !ctn_topo_take_shared(topo))) {
        return ctn_op_fail(op, CATENA_ERR_NO_MEMORY);
    }
    enrolment_t *own = &build->enrolment[ctn_topo_local_rank(topo)];
    own->member = (ctn_member_t){.address = group->chain.place.self,
                                 .rank = group->chain.place.rank,
                                 .numa = group->exec->locality->numa};
    own->shared =
        is_leader(topo) ? ctn_heap_offset(op->exec->heap, topo->shared) : 0;
    own->node_index = topo->node_index;
    own->nodes = topo->nodes;
    own->oversubscribed = topo->oversubscribed;
    return ctn_op_call(op, ctn_chain_allgather_table(op->exec, &topo->node, own,
                                                     sizeof(*own),
                                                     build->enrolment));
}

/** List the members of the node, connect to them, and map the memory of the
 * leader. */
static ctn_step_t finalize(ctn_op_t *op)
{
    const topo_build_t *build = ctn_op_state(op);
    const enrolment_t *leader = build->enrolment;
    ctn_topo_t *topo = building(op);
    topo->node_index = leader->node_index;
    topo->nodes = leader->nodes;
    topo->oversubscribed = leader->oversubscribed != 0;
    free(topo->local); /* of an attempt that has failed */
    topo->local = calloc(ctn_topo_local_size(topo), sizeof(*topo->local));
    if (topo->local == NULL) {
        return ctn_op_fail(op, CATENA_ERR_NO_MEMORY);
    }
    for (uint32_t i = 0; i < ctn_topo_local_size(topo); i++) {
        topo->local[i] = build->enrolment[i].member;
    }
    catena_status_t status = ctn_topo_connect(topo, leader->shared);
    if (status != CATENA_OK) {
        return ctn_op_fail(op, status);
    }
    topo->state = CTN_BUILT;
    return CTN_STEP_NEXT;
}

static void finish(ctn_op_t *op)
{
    topo_build_t *build = ctn_op_state(op);
    free(build->enrolment);
    ctn_build_finish(op);
}

static const ctn_phase_t phases[] = {
    {"split by node", begin},       {"find leaders", find_leaders},
    {"link leaders", link_leaders}, {"enrol", enrol},
    {"finalize", finalize},         {NULL, NULL}};

static const ctn_algorithm_t build_algorithm = {
    .name = "topology",
    .state_bytes = sizeof(topo_build_t),
    .phases = phases,
    .finish = finish,
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
    ctn_topo_release_shared(exec, topo);
    ctn_exec_free(exec, topo->shared_member_table);
    for (unsigned i = 0; i < CTN_FLIGHT; i++) {
        free(topo->transfer[i]);
    }
    free(topo->local);
    free(topo->peer);
    free(topo);
}

ctn_topo_t *ctn_topo_of(catena_group_t *group)
{
    ctn_topo_t *topo = ctn_topo_known(group);
    if (topo != NULL) {
        return topo;
    }
    topo = malloc(sizeof(*topo));
    if (topo != NULL) {
        memset(topo, 0, sizeof(*topo));
        topo->attachment.key = &topo_key;
        topo->attachment.release = release;
        topo->attachment.clear = clear;
        topo->group = group;
        const ctn_chain_place_t *place = &group->chain.place;
        ctn_chain_init(&topo->node, ctn_group_block(group), place->self,
                       offsetof(ctn_control_block_t, subchain[0]), place->size);
        ctn_chain_init(&topo->leaders, ctn_group_block(group), place->self,
                       offsetof(ctn_control_block_t, subchain[1]), place->size);
        topo->node.sequence.failure = topo->leaders.sequence.failure =
            group->sequence.failure;
        ctn_group_attach(group, &topo->attachment);
        group->frequent = &topo->attachment;
    }
    return topo;
}

ctn_step_t ctn_topo_need(ctn_op_t *op, catena_group_t *group, ctn_topo_t **out)
{
    ctn_topo_t *topo = ctn_topo_of(group);
    if (topo == NULL) { /* other members wait for this one, if there are any */
        return ctn_op_fail(op, ctn_group_give_up(group, CATENA_ERR_NO_MEMORY));
    }
    ctn_step_t step = ctn_op_need(op, &topo->state, topo, &build_algorithm);
    if (step == CTN_STEP_NEXT) {
        *out = topo;
    }
    return step;
}
