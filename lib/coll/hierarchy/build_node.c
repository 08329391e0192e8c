/* Building a hierarchy by the node area; see build.c.
 *
 * If all ranks of the group are on one node and its topology is built, two
 * exchanges through the node area replace all else, where the first level has
 * one subgroup. In the first one each rank writes what the others must know of
 * its settings, its subgroup and its module; in the second one whether it could
 * link the modules. The entries lie where splits publish records, which do not
 * run at the same time: they wait until they are the oldest operation, too. */

#include <stdlib.h>
#include <string.h>

#include "coll/barrier.h"
#include "coll/hierarchy/build.h"
#include "core/hash.h"

/** What a rank publishes. */
typedef struct node_facts {
    uint64_t digest; /* of the settings */
    uint64_t name;   /* hash of the name of its subgroup in the first level */
    /** Its ctn_member_record_t, which has one range. */
    unsigned char record[sizeof(ctn_member_record_t) + sizeof(ctn_range_t)];
} node_facts_t;

/** Return where the member with local rank i publishes. It is the group's rank
 * i, as the group has one node. */
static node_facts_t *node_facts_of(const ctn_hierarchy_build_t *build,
                                   uint32_t i)
{
    const ctn_topo_t *topo = build->topo;
    size_t half = (topo->splits + 1) % 2 * ctn_topo_local_size(topo);
    ctn_published_record_t *record = &topo->published_record[half + i];
    _Static_assert(sizeof(node_facts_t) <= sizeof(record->data), "it fits");
    return (node_facts_t *)(void *)record->data;
}

/** Publish this rank's entry, and wait for those of all. */
static ctn_step_t publish_on_node(ctn_op_t *op, uint64_t name)
{
    ctn_hierarchy_build_t *build = ctn_build_of(op);
    build->topo->splits++;
    node_facts_t *facts =
        node_facts_of(build, ctn_topo_local_rank(build->topo));
    facts->digest = build->digest;
    facts->name = name;
    build->record->status = build->status;
    memcpy(facts->record, build->record, sizeof(facts->record));
    return ctn_op_call(op, ctn_publish_fence_create(build->all->group));
}

/** Return the worst status that is published. */
static catena_status_t worst_on_node(const ctn_hierarchy_build_t *build)
{
    int32_t worst = CATENA_OK;
    for (uint32_t i = 0; i < ctn_topo_local_size(build->topo); i++) {
        const ctn_member_record_t *record =
            (const void *)node_facts_of(build, i)->record;
        worst = record->status < worst ? record->status : worst;
    }
    return (catena_status_t)worst;
}

/** The first exchange. All ranks know whether there is one: they have built the
 * topology in the same operation, or with the group. */
ctn_step_t ctn_build_exchange_on_node(ctn_op_t *op)
{
    ctn_hierarchy_build_t *build = ctn_build_of(op);
    catena_group_t *group = build->all->group;
    ctn_topo_t *topo = ctn_topo_known(group);
    if (topo == NULL || topo->state != CTN_BUILT || topo->nodes > 1 ||
        group->chain.place.size == 1) {
        return ctn_op_jump(op, CTN_BUILD_PHASE_AGREE);
    }
    build->topo = topo;
    build->same = ctn_build_find_same(build);
    if (ctn_build_is_automatic(build)) {
        ctn_build_choose_levels(build, topo->oversubscribed);
    }
    if (build->same == NULL) {
        ctn_build_make_module(build, &topo->node.place, topo->oversubscribed);
    }
    return publish_on_node(op, ctn_hash_add_text(0, build->name[0]));
}

/** Link the module of the only subgroup. */
static catena_status_t link_on_node(ctn_hierarchy_build_t *build)
{
    const ctn_topo_t *topo = build->topo;
    ctn_rank_blocks_t records = {.count = ctn_topo_local_size(topo)};
    records.block = malloc(records.count * sizeof(*records.block));
    if (records.block == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    for (uint32_t i = 0; i < records.count; i++) {
        records.block[i] =
            (ctn_rank_block_t){.data = node_facts_of(build, i)->record};
    }
    build->hierarchy->in_order = build->hierarchy->balanced = true;
    build->hierarchy->top = true;
    catena_status_t status = ctn_build_add_module(
        build, &records, ctn_topo_local_rank(topo), topo->oversubscribed);
    free(records.block);
    return status;
}

/** What follows from the entries: an error, nothing to build, the levels as on
 * several nodes, or a hierarchy of one level. */
ctn_step_t ctn_build_decide_on_node(ctn_op_t *op)
{
    ctn_hierarchy_build_t *build = ctn_build_of(op);
    uint32_t me = ctn_topo_local_rank(build->topo);
    catena_status_t worst = worst_on_node(build);
    uint64_t name = node_facts_of(build, 0)->name;
    bool differ = false;
    bool divided = false;
    for (uint32_t i = 0; i < ctn_topo_local_size(build->topo); i++) {
        const node_facts_t *entry = node_facts_of(build, i);
        differ |= entry->digest != build->digest;
        divided |= entry->name != name;
    }
    if (differ) {
        build->own.digest = build->digest;
        build->left = (ctn_build_facts_t){.ranks = me};
        build->left.digest = me > 0 ? node_facts_of(build, me - 1)->digest : 0;
        return ctn_build_end_different(op);
    }
    if (worst != CATENA_OK || build->same != NULL) {
        if (worst == CATENA_OK) {
            ctn_build_take_over(build->hierarchy, build->same);
        }
        return ctn_build_end_on_all(op, worst);
    }
    if (divided) {
        build->module->bcol->destroy(build->module);
        build->module = NULL;
        return ctn_op_jump(op, CTN_BUILD_PHASE_AGREE);
    }
    ctn_build_note(build, link_on_node(build));
    return publish_on_node(op, 0);
}

/** The second exchange has ended. */
ctn_step_t ctn_build_end_on_node(ctn_op_t *op)
{
    return ctn_build_end_on_all(op, worst_on_node(ctn_build_of(op)));
}
