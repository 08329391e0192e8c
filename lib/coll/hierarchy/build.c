/* HIER-11: building a hierarchy. Graham, Gorentla Venkata, Ladd, Shamis,
 * Rabinovitz, Filipov, Shainer: Cheetah: A Framework for Scalable Hierarchical
 * Collective Operations, CCGrid 2011, section 3.
 * Levels are built from the lowest up. The participants of a level (all ranks,
 * then the leaders of the level below) are split by the name of their resource.
 * The members of a subgroup exchange the addresses of their modules' memory and
 * the ranks that they represent. The leaders form a chain of their own, for the
 * next level. Before the first level all ranks of the group agree on the
 * settings, and after the last one on the outcome. On one node two exchanges
 * through the node area do all of this if one module serves all ranks. Rounds:
 * a few times ceil(log2 n) for each level of n participants, and those of a
 * split by hash (SPL-7). Memory: the modules, the tables of this rank's
 * subgroups, and on leaders the ranges of ranks that they represent;
 * consecutive ranks are one range. */

#include "coll/barrier.h"
#include "coll/hierarchy/levels.h"
#include "core/hash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "group/chain_coll.h"
#include "split/split.h"

/* The default hierarchies. */
static const char default_levels[] = "numa:shm,node:shm,network:ucx";
static const char default_levels_oversubscribed[] = "node:shm,network:ucx";

/* ---- agreement ---- */

/* Flags of facts: set if true on any participant. */
enum {
    DIFFER = 1u << 0,         /* digests of two ranks differ */
    OVERSUBSCRIBED = 1u << 1, /* a host has more ranks than cores */
    APART = 1u << 2,          /* two consecutive ranks share no heap */
    DISORDER = 1u << 3        /* a subgroup is not in the order of ranks */
};

/** The facts of one rank, or of consecutive ranks combined. All 0: of no rank.
 */
typedef struct facts {
    uint64_t digest; /* of the settings, on the rank nearest to this one */
    uint32_t ranks;  /* number */
    uint32_t flags;
    int32_t status; /* the worst */
    uint32_t unused;
} facts_t;

/** Combine function of the double scan: add the facts of ranks that are farther
 * from this one to those of nearer ranks. */
static void fold_facts(void *nearer, const void *farther, int in_is_left)
{
    facts_t *a = nearer;
    const facts_t *b = farther;
    (void)in_is_left;
    if (a->ranks == 0) {
        *a = *b;
    } else if (b->ranks > 0) {
        a->flags |= b->flags | (a->digest != b->digest ? DIFFER : 0);
        a->ranks += b->ranks;
        a->status = b->status < a->status ? b->status : a->status;
    }
}

/* ---- state ---- */

/* Temporary chains: number 0 for the participants from the second level on, and
 * 1 + level for the subgroup of each level. */
enum {
    CHAINS = 1 + CTN_MOST_LEVELS,
    BLOCK_CHAINS = 1 + CTN_SUBCHAINS, /* chains that a control block serves */
    BLOCKS = (CHAINS + BLOCK_CHAINS - 1) / BLOCK_CHAINS
};

/* Offsets of their slots in a control block. */
static const uint32_t bases[BLOCK_CHAINS] = {
    offsetof(ctn_control_block_t, chain),
    offsetof(ctn_control_block_t, subchain[0]),
    offsetof(ctn_control_block_t, subchain[1])};

/* Slots of one chain of a small group (ctn_small_control_block_t). A hidden
 * duplicate with few members is such a group. Many of them may build
 * hierarchies at once, so their temporary chains get slots without control
 * blocks. */
#define SMALL_CHAIN_BYTES sizeof(((ctn_small_control_block_t *)NULL)->chain)

/** State of the operation that builds a hierarchy. */
typedef struct hierarchy_build {
    /* arguments */
    ctn_hierarchies_t *all;        /* of the group */
    ctn_hierarchy_t *hierarchy;    /* the one to build */
    ctn_hierarchy_levels_t levels; /* auto: none before the ranks agree */
    /* The names of this rank's subgroups when the hierarchy was requested:
     * settings may change before it is built. */
    char name[CTN_MOST_LEVELS][CTN_SBGP_NAME_BYTES];
    uint64_t digest; /* of all settings */
    /* working */
    catena_status_t status;      /* the worst on this rank so far */
    bool agreed;                 /* the status is the same on all ranks */
    const ctn_hierarchy_t *same; /* an equal hierarchy that is built; or NULL */
    unsigned used;               /* chains [0, used) have been opened */
    unsigned level;              /* the current one */
    ctn_control_block_t *block[BLOCKS]; /* of the chains */
    unsigned char *slots;               /* of the chains, in a small group */
    ctn_chain_t chain[CHAINS];
    ctn_member_record_t *record; /* of this rank */
    ctn_module_t *module;        /* of this level, not in `modules` yet */
    ctn_module_entry_t *modules; /* of the levels built */
    ctn_rank_blocks_t blocks;    /* records of the subgroup's members */
    /* Double scans: of this rank, of the ranks before and after it. */
    facts_t own, left, right;
    ctn_topo_t *topo; /* of a group on one node; see "by the node area" */
    ctn_bins_t own_bins, left_bins, right_bins;
} hierarchy_build_t;

static hierarchy_build_t *build_of(ctn_op_t *op)
{
    return *(hierarchy_build_t **)ctn_op_state(op);
}

/** Keep the worst status of this rank. */
static void note(hierarchy_build_t *build, catena_status_t status)
{
    build->status = status < build->status ? status : build->status;
}

/** The members of this rank's subgroup in this level. */
static ctn_chain_t *chain_of_subgroup(hierarchy_build_t *build)
{
    return &build->chain[1 + build->level];
}

/** The participants of this level. */
static ctn_chain_t *chain_of_level(hierarchy_build_t *build)
{
    return build->level == 0 ? &build->all->group->chain : &build->chain[0];
}

/** Combine the facts of all participants of a chain, by a double scan. */
static ctn_step_t agree(ctn_op_t *op, ctn_chain_t *chain, uint64_t digest,
                        uint32_t flags)
{
    hierarchy_build_t *build = build_of(op);
    build->own = (facts_t){
        .digest = digest, .ranks = 1, .flags = flags, .status = build->status};
    return ctn_op_call(op, ctn_scan_create(op->exec, chain, fold_facts,
                                           &build->own, &build->left,
                                           &build->right, sizeof(facts_t)));
}

/** The facts of all participants, when that scan has ended. */
static facts_t agreed_facts(const hierarchy_build_t *build)
{
    facts_t facts = build->own;
    fold_facts(&facts, &build->left, 1);
    fold_facts(&facts, &build->right, 0);
    return facts;
}

/* ---- settings ---- */

/** Whether the levels are "auto", and not chosen yet. */
static bool is_automatic(const hierarchy_build_t *build)
{
    return build->levels.count == 0;
}

/** Log that this rank and the one before it have different settings, if so. */
static void report_different_settings(const hierarchy_build_t *build)
{
    const catena_group_t *group = build->all->group;
    if (build->left.ranks == 0 || build->left.digest == build->own.digest) {
        return;
    }
    char list[CTN_COLL_COUNT * CTN_SETTING_BYTES];
    (void)ctn_hierarchies_write(build->all, list);
    ctn_error(
        group->exec->log,
        "ranks %u and %u of a group have different hierarchies; expected "
        "the same settings CATENA_HIERARCHY, CATENA_<COLLECTIVE>_HIERARCHY, "
        "CATENA_<COLLECTIVE>_ALGORITHM and of catena_group_set on all ranks, "
        "found on rank %u: %s",
        group->chain.place.rank - 1, group->chain.place.rank,
        group->chain.place.rank, list[0] != '\0' ? list : "auto for all");
}

/* ---- chains ---- */

/** Allocate the control blocks for all levels beforehand. A rank without memory
 * can then still report that to the others. */
static catena_status_t take_control_blocks(hierarchy_build_t *build)
{
    /* 3: the levels of default_levels */
    unsigned levels = is_automatic(build) ? 3 : build->levels.count;
    if (build->same != NULL || build->all->group->chain.place.size == 1) {
        return CATENA_OK;
    }
    if (build->all->group->small) {
        build->slots = ctn_heap_calloc(build->all->group->exec->heap, 4096,
                                       (1 + levels) * SMALL_CHAIN_BYTES);
        return build->slots != NULL ? CATENA_OK : CATENA_ERR_NO_MEMORY;
    }
    for (unsigned i = 0; i * BLOCK_CHAINS < 1 + levels; i++) {
        build->block[i] = ctn_control_block_get(build->all->group->exec);
        if (build->block[i] == NULL ||
            !ctn_heap_take(build->all->group->exec->heap, build->block[i],
                           offsetof(ctn_control_block_t, user))) {
            return CATENA_ERR_NO_MEMORY;
        }
    }
    return CATENA_OK;
}

/** Initialize chain i, with this rank alone. */
static void open_chain(hierarchy_build_t *build, unsigned i)
{
    const catena_group_t *group = build->all->group;
    void *block = build->block[i / BLOCK_CHAINS];
    uint32_t base = bases[i % BLOCK_CHAINS];
    if (build->slots != NULL) {
        block = build->slots + i * SMALL_CHAIN_BYTES;
        base = 0;
    }
    ctn_address_t address = {.process = group->exec->locality->process,
                             .offset =
                                 ctn_heap_offset(group->exec->heap, block)};
    ctn_chain_init(&build->chain[i], block, address, base);
    build->used = i + 1 > build->used ? i + 1 : build->used;
}

/** Free the control blocks. All ranks have agreed on the outcome after the last
 * use of the temporary chains, so no rank accesses the blocks any more. This is
 * not called if the network failed: a rank may then still put into a block, so
 * the blocks stay until the heap is released. */
static void free_control_blocks(hierarchy_build_t *build)
{
    for (unsigned i = 0; i < build->used; i++) {
        ctn_chain_release(build->all->group->exec, &build->chain[i]);
    }
    ctn_exec_free(build->all->group->exec, build->slots);
    for (unsigned i = 0; i < BLOCKS; i++) {
        if (build->block[i] != NULL) {
            ctn_control_block_put(build->all->group->exec, build->block[i]);
        }
    }
}

/* ---- before the first level ---- */

/* Indices in `phases`. */
enum {
    PHASE_WAIT,
    PHASE_NODE,
    PHASE_NODE_DECIDE,
    PHASE_NODE_END,
    PHASE_AGREE,
    PHASE_DECIDE,
    PHASE_SPLIT,
    PHASE_AGREE_IN_SUBGROUP,
    PHASE_EXCHANGE,
    PHASE_TAKE,
    PHASE_LEADERS,
    PHASE_CLIMB,
    PHASE_REPORT,
    PHASE_HAND_OVER
};

/** Wait until this operation is the group's oldest: its child operations run on
 * the group's chain, which serves one operation at a time. */
static ctn_step_t wait_until_oldest(ctn_op_t *op)
{
    return ctn_op_is_oldest(op) ? CTN_STEP_NEXT : CTN_STEP_WAIT;
}

/** An earlier hierarchy with the same levels, or NULL. All operations begun
 * before this one are complete, and all ranks agreed on what was built, so all
 * ranks find the same one. */
static const ctn_hierarchy_t *find_same(const hierarchy_build_t *build)
{
    const ctn_hierarchy_t *same = build->all->first;
    while (same != NULL &&
           (same->state != CTN_BUILT || same->status != CATENA_OK ||
            !ctn_hierarchy_same(same, build->hierarchy))) {
        same = same->next;
    }
    return same;
}

/** Find the names of this rank's subgroups by the rules of all levels. */
static void find_names(hierarchy_build_t *build)
{
    for (unsigned i = 0; i < build->levels.count; i++) {
        note(build, build->levels.level[i].rule->find(build->all->group,
                                                      build->name[i]));
    }
}

/** The levels are automatic: choose them. */
static void choose_levels(hierarchy_build_t *build, bool oversubscribed)
{
    note(build,
         ctn_hierarchy_levels_read(
             build->all->group->exec->log, "the default hierarchy",
             oversubscribed ? default_levels_oversubscribed : default_levels,
             &build->levels));
    find_names(build);
}

/** Whether this rank and the one before it are apart: they share no heap. If no
 * two consecutive ranks are apart, all ranks share one heap. */
static bool is_apart(const catena_group_t *group)
{
    ctn_address_t left = group->chain.place.left;
    ctn_endpoint_t *endpoint;
    return ctn_address_exists(left) &&
           (ctn_exec_connect(group->exec, left.process, &endpoint) !=
                CATENA_OK ||
            ctn_pointer(endpoint, left.offset) == NULL);
}

/** All ranks agree on the settings, the memory and the machine. */
static ctn_step_t agree_before(ctn_op_t *op)
{
    hierarchy_build_t *build = build_of(op);
    catena_group_t *group = build->all->group;
    uint32_t flags = 0;
    build->same = find_same(build);
    note(build, take_control_blocks(build));
    flags |= op->exec->oversubscribed ? OVERSUBSCRIBED : 0;
    flags |= is_apart(group) ? APART : 0;
    return agree(op, &group->chain, build->digest, flags);
}

/** Take the modules of an equal hierarchy. */
static void take_over(ctn_hierarchy_t *hierarchy, const ctn_hierarchy_t *same)
{
    hierarchy->levels = same->levels;
    memcpy(hierarchy->level, same->level, sizeof(hierarchy->level));
    hierarchy->top = same->top;
    hierarchy->in_order = same->in_order;
    hierarchy->oversubscribed = same->oversubscribed;
    hierarchy->one_node = same->one_node;
}

/** End the operation with a status. Called on all ranks, with the same status.
 */
static ctn_step_t end_on_all(ctn_op_t *op, catena_status_t status)
{
    hierarchy_build_t *build = build_of(op);
    build->status = status;
    build->agreed = true;
    return ctn_op_jump(op, PHASE_HAND_OVER + 1);
}

/** What follows from these facts: an error, nothing to build, or the levels. */
static ctn_step_t decide(ctn_op_t *op)
{
    hierarchy_build_t *build = build_of(op);
    ctn_hierarchy_t *hierarchy = build->hierarchy;
    facts_t facts = agreed_facts(build);
    if ((facts.flags & DIFFER) != 0) {
        report_different_settings(build);
        return end_on_all(op, CATENA_ERR_ARG);
    }
    if (facts.status != CATENA_OK) {
        return end_on_all(op, (catena_status_t)facts.status);
    }
    if (build->same != NULL) {
        take_over(hierarchy, build->same);
        return end_on_all(op, CATENA_OK);
    }
    hierarchy->oversubscribed = (facts.flags & OVERSUBSCRIBED) != 0;
    hierarchy->one_node = (facts.flags & APART) == 0;
    hierarchy->in_order = true;
    if (facts.ranks == 1) {
        return end_on_all(op, CATENA_OK);
    }
    if (is_automatic(build)) {
        choose_levels(build, hierarchy->oversubscribed);
        if (build->status != CATENA_OK) { /* so on all ranks */
            return end_on_all(op, build->status);
        }
    }
    open_chain(build, 0);
    return CTN_STEP_NEXT;
}

/** Link the module of this level with those of the other members, and add it to
 * the hierarchy.
 * @param records of the subgroup's members
 * @param me index of this rank among them */
static catena_status_t add_module(hierarchy_build_t *build,
                                  const ctn_rank_blocks_t *records, uint32_t me,
                                  bool oversubscribed)
{
    ctn_module_entry_t *entry = ctn_module_entry_create(
        records, build->levels.level[build->level].rule, me, oversubscribed);
    if (entry == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    entry->module = build->module;
    entry->next = build->modules;
    build->modules = entry;
    build->module = NULL;
    catena_status_t status =
        entry->module->bcol->link(entry->module, &entry->sbgp);
    if (status != CATENA_OK) {
        return status;
    }
    ctn_hierarchy_t *hierarchy = build->hierarchy;
    hierarchy->level[hierarchy->levels++] = entry->module;
    hierarchy->in_order &= entry->sbgp.in_order;
    return CATENA_OK;
}

/* ---- by the node area ---- */

/* If all ranks of the group are on one node and its topology is built, two
 * exchanges through the node area replace all else, where the first level has
 * one subgroup. In the first one each rank writes what the others must know of
 * its settings, its subgroup and its module; in the second one whether it could
 * link the modules. The entries lie where splits publish records, which do not
 * run at the same time: they wait until they are the oldest operation, too. */

typedef struct node_facts {
    uint64_t digest; /* of the settings */
    uint64_t name;   /* hash of the name of its subgroup in the first level */
    uint64_t memory; /* of its module */
    int64_t status;
} node_facts_t;

/** Return where the member with local rank i publishes. It is the group's rank
 * i, as the group has one node. */
static node_facts_t *node_facts_of(const hierarchy_build_t *build, uint32_t i)
{
    const ctn_topo_t *topo = build->topo;
    size_t half = (topo->splits + 1) % 2 * ctn_topo_local_size(topo);
    ctn_published_record_t *record = &topo->published_record[half + i];
    _Static_assert(sizeof(node_facts_t) <= sizeof(record->data), "it fits");
    return (node_facts_t *)(void *)record->data;
}

/** Publish this rank's entry, and wait for those of all. */
static ctn_step_t publish_on_node(ctn_op_t *op, node_facts_t entry)
{
    hierarchy_build_t *build = build_of(op);
    build->topo->splits++;
    *node_facts_of(build, ctn_topo_local_rank(build->topo)) = entry;
    return ctn_op_call(op, ctn_publish_fence_create(build->all->group));
}

/** Return the worst status that is published. */
static catena_status_t worst_on_node(const hierarchy_build_t *build)
{
    int64_t worst = CATENA_OK;
    for (uint32_t i = 0; i < ctn_topo_local_size(build->topo); i++) {
        int64_t status = node_facts_of(build, i)->status;
        worst = status < worst ? status : worst;
    }
    return (catena_status_t)worst;
}

/** The first exchange. All ranks know whether there is one: they have built the
 * topology in the same operation, or with the group. */
static ctn_step_t exchange_on_node(ctn_op_t *op)
{
    hierarchy_build_t *build = build_of(op);
    catena_group_t *group = build->all->group;
    ctn_topo_t *topo = ctn_topo_known(group);
    if (topo == NULL || topo->state != CTN_BUILT || topo->nodes > 1 ||
        group->chain.place.size == 1) {
        return ctn_op_jump(op, PHASE_AGREE);
    }
    build->topo = topo;
    build->same = find_same(build);
    node_facts_t entry = {.digest = build->digest};
    if (is_automatic(build)) {
        choose_levels(build, topo->oversubscribed);
    }
    if (build->same == NULL && build->status == CATENA_OK) {
        const ctn_bcol_t *bcol = build->levels.level[0].bcol;
        entry.name = ctn_hash_add_text(0, build->name[0]);
        note(build, bcol->create(bcol, op->exec, topo->node.place.size,
                                 topo->node.place.rank, topo->oversubscribed,
                                 group->hidden, &build->module, &entry.memory));
    }
    entry.status = build->status;
    return publish_on_node(op, entry);
}

/** Make the records of all ranks, as they would send them. @return one block of
 * memory; NULL: no memory */
static ctn_rank_block_t *records_of_node(const hierarchy_build_t *build)
{
    uint32_t n = ctn_topo_local_size(build->topo);
    size_t bytes = ctn_member_record_bytes(1);
    ctn_rank_block_t *block = calloc(n, sizeof(*block) + bytes);
    for (uint32_t i = 0; block != NULL && i < n; i++) {
        ctn_member_record_t *record =
            (void *)((unsigned char *)(block + n) + i * bytes);
        record->memory = (ctn_address_t){
            .process = ctn_topo_local(build->topo, i)->address.process,
            .offset = node_facts_of(build, i)->memory};
        record->rank = i;
        record->ranges = 1;
        record->range[0] = (ctn_range_t){i, 1};
        block[i] = (ctn_rank_block_t){record, bytes};
    }
    return block;
}

/** Link the module of the only subgroup. */
static catena_status_t link_on_node(hierarchy_build_t *build)
{
    const ctn_topo_t *topo = build->topo;
    ctn_hierarchy_t *hierarchy = build->hierarchy;
    ctn_rank_blocks_t records = {.block = records_of_node(build),
                                 .count = ctn_topo_local_size(topo)};
    hierarchy->oversubscribed = topo->oversubscribed;
    hierarchy->one_node = true;
    hierarchy->in_order = true;
    hierarchy->top = true;
    catena_status_t status =
        records.block != NULL
            ? add_module(build, &records, ctn_topo_local_rank(topo),
                         topo->oversubscribed)
            : CATENA_ERR_NO_MEMORY;
    free(records.block);
    return status;
}

/** What follows from the entries: an error, nothing to build, the levels as on
 * several nodes, or a hierarchy of one level. */
static ctn_step_t decide_on_node(ctn_op_t *op)
{
    hierarchy_build_t *build = build_of(op);
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
        build->left = (facts_t){.ranks = me};
        build->left.digest = me > 0 ? node_facts_of(build, me - 1)->digest : 0;
        report_different_settings(build);
        return end_on_all(op, CATENA_ERR_ARG);
    }
    if (worst != CATENA_OK || build->same != NULL) {
        if (worst == CATENA_OK) {
            take_over(build->hierarchy, build->same);
        }
        return end_on_all(op, worst);
    }
    if (divided) {
        build->module->bcol->destroy(build->module);
        build->module = NULL;
        return ctn_op_jump(op, PHASE_AGREE);
    }
    note(build, link_on_node(build));
    return publish_on_node(op, (node_facts_t){.status = build->status});
}

/** The second exchange has ended. */
static ctn_step_t end_on_node(ctn_op_t *op)
{
    return end_on_all(op, worst_on_node(build_of(op)));
}

/* ---- a level ---- */

/** Split the participants of the level into subgroups. */
static ctn_step_t split_by_name(ctn_op_t *op)
{
    hierarchy_build_t *build = build_of(op);
    const char *name = build->name[build->level];
    open_chain(build, 1 + build->level);
    return ctn_op_call(op, ctn_split_create(op->exec, chain_of_level(build),
                                            chain_of_subgroup(build), name,
                                            strlen(name)));
}

/** The members of a subgroup agree on what their modules depend on. A rank that
 * is alone in its subgroup needs no module. */
static ctn_step_t agree_in_subgroup(ctn_op_t *op)
{
    hierarchy_build_t *build = build_of(op);
    if (chain_of_subgroup(build)->place.size == 1) {
        return ctn_op_jump(op, PHASE_LEADERS);
    }
    return agree(op, chain_of_subgroup(build), 0,
                 op->exec->oversubscribed ? OVERSUBSCRIBED : 0);
}

/** Make this rank's module and exchange records with the other members. */
static ctn_step_t exchange(ctn_op_t *op)
{
    hierarchy_build_t *build = build_of(op);
    ctn_chain_t *chain = chain_of_subgroup(build);
    const ctn_chain_place_t *place = &chain->place;
    const ctn_bcol_t *bcol = build->levels.level[build->level].bcol;
    ctn_member_record_t *record = build->record;
    record->memory.process = place->self.process;
    record->memory.offset = 0;
    note(build, (catena_status_t)agreed_facts(build).status);
    if (build->status == CATENA_OK) {
        note(build,
             bcol->create(bcol, op->exec, place->size, place->rank,
                          (agreed_facts(build).flags & OVERSUBSCRIBED) != 0,
                          build->all->group->hidden, &build->module,
                          &record->memory.offset));
    }
    record->status = build->status;
    ctn_rank_block_t block = {record, ctn_member_record_bytes(record->ranges)};
    return ctn_op_call(
        op, ctn_chain_allgather(op->exec, chain, block, &build->blocks));
}

/** The leader of a subgroup represents all its ranks in the levels above. */
static catena_status_t represent_all(hierarchy_build_t *build,
                                     const ctn_module_entry_t *entry)
{
    ctn_member_record_t *record = ctn_member_record_of_leader(&entry->sbgp);
    if (record == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    free(build->record);
    build->record = record;
    return CATENA_OK;
}

/** Add the module if all members have made theirs. */
static ctn_step_t take(ctn_op_t *op)
{
    hierarchy_build_t *build = build_of(op);
    uint32_t me = chain_of_subgroup(build)->place.rank;
    bool oversubscribed = (agreed_facts(build).flags & OVERSUBSCRIBED) != 0;
    note(build, ctn_member_records_status(&build->blocks));
    if (build->status == CATENA_OK) {
        note(build, add_module(build, &build->blocks, me, oversubscribed));
    }
    if (build->status == CATENA_OK && me == 0) {
        note(build, represent_all(build, build->modules));
    }
    ctn_rank_blocks_release(op->exec, &build->blocks);
    return CTN_STEP_NEXT;
}

/** Find the leaders' neighbors in their chain, by a scan with bins
 * (split/bins.h): leaders are in bin 1, the other participants in bin 0. If the
 * subgroup has all participants, this level is the last one. */
static ctn_step_t find_leaders(ctn_op_t *op)
{
    hierarchy_build_t *build = build_of(op);
    const ctn_chain_place_t *place = &chain_of_subgroup(build)->place;
    ctn_chain_t *level = chain_of_level(build);
    if (place->size == level->place.size) {
        build->hierarchy->top = true;
        return ctn_op_jump(op, PHASE_REPORT);
    }
    ctn_bins_set(&build->own_bins, place->rank == 0,
                 build->chain[0].place.self);
    return ctn_op_call(op,
                       ctn_scan_create(op->exec, level, ctn_fold_bins,
                                       &build->own_bins, &build->left_bins,
                                       &build->right_bins, sizeof(ctn_bins_t)));
}

/** Leaders go on with the next level; the other ranks are done. */
static ctn_step_t climb(ctn_op_t *op)
{
    hierarchy_build_t *build = build_of(op);
    if (chain_of_subgroup(build)->place.rank != 0) {
        return ctn_op_jump(op, PHASE_REPORT);
    }
    ctn_chain_t *leaders = &build->chain[0];
    ctn_chain_set_place(leaders,
                        ctn_bins_place(&build->left_bins, &build->right_bins, 1,
                                       leaders->place.self));
    if (build->level + 1 < build->levels.count) {
        build->level++;
        return ctn_op_jump(op, PHASE_SPLIT);
    }
    if (leaders->place.rank == 0 && build->status == CATENA_OK) {
        ctn_error(op->exec->log,
                  "hierarchy '%s' ends with %u subgroups, which nothing joins; "
                  "append network:ucx",
                  build->hierarchy->text, leaders->place.size);
    }
    note(build, CATENA_ERR_ARG);
    return CTN_STEP_NEXT;
}

/* ---- after the last level ---- */

/** All ranks agree on the outcome. */
static ctn_step_t report(ctn_op_t *op)
{
    hierarchy_build_t *build = build_of(op);
    return agree(op, &build->all->group->chain, 0,
                 build->hierarchy->in_order ? 0 : DISORDER);
}

/** Store the outcome; finish gives the modules to the group. */
static ctn_step_t hand_over(ctn_op_t *op)
{
    hierarchy_build_t *build = build_of(op);
    facts_t facts = agreed_facts(build);
    build->hierarchy->in_order = (facts.flags & DISORDER) == 0;
    build->status = (catena_status_t)facts.status;
    build->agreed = true;
    return CTN_STEP_NEXT;
}

/** Destroy the modules of a hierarchy that could not be built. No rank uses
 * them. */
static void drop_modules(hierarchy_build_t *build)
{
    ctn_hierarchy_t *hierarchy = build->hierarchy;
    hierarchy->levels = 0;
    hierarchy->top = false;
    ctn_module_entries_destroy(&build->modules);
}

static void finish(ctn_op_t *op)
{
    hierarchy_build_t *build = build_of(op);
    ctn_hierarchy_t *hierarchy = build->hierarchy;
    /* All ranks have ended, so nothing is in transit to this one. */
    bool ended_together = build->agreed && op->status == CATENA_OK;
    hierarchy->status = ended_together ? build->status : op->status;
    if (!ended_together && op->status == CATENA_ERR_NO_MEMORY) {
        /* Other members wait for this one. */
        (void)ctn_exec_abort(op->exec, op->status);
    }
    if (build->module != NULL) { /* no other rank uses it before the report */
        build->module->bcol->destroy(build->module);
    }
    if (build->blocks.block != NULL) {
        ctn_rank_blocks_release(op->exec, &build->blocks);
    }
    if (ended_together && hierarchy->status != CATENA_OK) {
        drop_modules(build);
    } else {
        ctn_module_entries_move(&build->all->modules, &build->modules);
    }
    if (ended_together) {
        free_control_blocks(build);
    }
    hierarchy->state = CTN_BUILT;
}

static void release(ctn_op_t *op)
{
    hierarchy_build_t *build = build_of(op);
    free(build->record);
    free(build);
}

static const ctn_phase_t phases[] = {{"wait", wait_until_oldest},
                                     {"exchange on the node", exchange_on_node},
                                     {"decide on the node", decide_on_node},
                                     {"end on the node", end_on_node},
                                     {"agree", agree_before},
                                     {"decide", decide},
                                     {"split", split_by_name},
                                     {"agree in subgroup", agree_in_subgroup},
                                     {"exchange", exchange},
                                     {"take", take},
                                     {"find leaders", find_leaders},
                                     {"climb", climb},
                                     {"report", report},
                                     {"hand over", hand_over},
                                     {NULL, NULL}};

static const ctn_algorithm_t build_algorithm = {
    .name = "hierarchy",
    .state_bytes = sizeof(hierarchy_build_t *),
    .phases = phases,
    .synchronizing = true,
    .finish = finish,
    .release = release,
};

/* ---- starting ---- */

/** Set the arguments, by the settings as they are now. */
static catena_status_t prepare(hierarchy_build_t *build, ctn_hierarchies_t *all,
                               ctn_hierarchy_t *hierarchy, bool compare)
{
    build->all = all;
    build->hierarchy = hierarchy;
    build->record = ctn_member_record_of_rank(all->group->chain.place.rank);
    if (build->record == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    char list[CTN_COLL_COUNT * CTN_SETTING_BYTES] = "";
    catena_status_t status =
        compare ? ctn_hierarchies_write(all, list) : CATENA_OK;
    if (status == CATENA_OK) {
        build->digest =
            ctn_hash_add_text(ctn_hash_add_text(0, list), hierarchy->text);
    }
    if (status == CATENA_OK && strcmp(hierarchy->text, "auto") != 0) {
        status = ctn_hierarchy_levels_read(all->group->exec->log, "hierarchy",
                                           hierarchy->text, &build->levels);
        find_names(build);
    }
    return status;
}

catena_status_t ctn_hierarchy_build(ctn_hierarchies_t *all,
                                    ctn_hierarchy_t *hierarchy, bool compare)
{
    catena_group_t *group = all->group;
    hierarchy_build_t *build = calloc(1, sizeof(*build));
    if (build == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    catena_status_t status = prepare(build, all, hierarchy, compare);
    ctn_op_t *op =
        status == CATENA_OK
            ? ctn_op_create(group->exec, &build_algorithm, &group->sequence)
            : NULL;
    if (op == NULL) {
        free(build->record);
        free(build);
        return status != CATENA_OK ? status : CATENA_ERR_NO_MEMORY;
    }
    *(hierarchy_build_t **)ctn_op_state(op) = build;
    hierarchy->state = CTN_BUILDING;
    ctn_op_start_detached(op);
    return CATENA_OK;
}
