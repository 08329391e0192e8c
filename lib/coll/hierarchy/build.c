/* HIER-11: building a hierarchy. Graham, Gorentla Venkata, Ladd, Shamis,
 * Rabinovitz, Filipov, Shainer: Cheetah: A Framework for Scalable Hierarchical
 * Collective Operations, CCGrid 2011, section 3.
 * Levels are built from the lowest up. The participants of a level (all ranks,
 * then the leaders of the level below) are split by the name of their resource.
 * The members of a subgroup exchange the addresses of their modules' memory and
 * the ranks that they represent. The leaders form a chain of their own. Before
 * and after, all ranks of the group agree on the settings and on the outcome.
 * Rounds: a few times ceil(log2 n) for each level of n participants, and a
 * split by hash. Memory: the modules', the tables of this rank's subgroups, and
 * on leaders the ranges of ranks that they represent; consecutive ranks are one
 * range. */

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

/* Flags: set if true on any participant. */
enum {
    DIFFER = 1u << 0,         /* digests differ */
    OVERSUBSCRIBED = 1u << 1, /* a host has more ranks than cores */
    APART = 1u << 2,          /* two consecutive ranks share no heap */
    DISORDER = 1u << 3        /* a subgroup is not in the order of ranks */
};

/** The facts of one rank, or of several combined. All zero: of none. */
typedef struct facts {
    uint64_t digest; /* of the nearest rank */
    uint32_t ranks;
    uint32_t flags;
    int32_t status; /* the worst */
    uint32_t unused;
} facts_t;

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

/* Temporary chains: one for the participants from the second level on, and one
 * for the subgroup of each level. */
enum {
    CHAINS = 1 + CTN_MOST_LEVELS,
    BLOCK_CHAINS = 1 + CTN_SUBCHAINS, /* in a control block */
    BLOCKS = (CHAINS + BLOCK_CHAINS - 1) / BLOCK_CHAINS
};

static const uint32_t bases[BLOCK_CHAINS] = {
    offsetof(ctn_control_block_t, chain),
    offsetof(ctn_control_block_t, subchain[0]),
    offsetof(ctn_control_block_t, subchain[1])};

/** Many requests may build hierarchies at once, so the chains of small groups
 * take slots only. */
#define SMALL_CHAIN_BYTES sizeof(((ctn_small_control_block_t *)NULL)->chain)

typedef struct hierarchy_build {
    /* arguments */
    ctn_hierarchies_t *all;
    ctn_hierarchy_t *hierarchy;
    ctn_hierarchy_levels_t levels; /* auto: none yet */
    /* The names of this rank's subgroups when the hierarchy was requested:
     * settings may change before it is built. */
    char name[CTN_MOST_LEVELS][CTN_SBGP_NAME_BYTES];
    uint64_t digest; /* of all settings */
    /* working */
    catena_status_t status;
    bool agreed;                 /* the status is the same on all ranks */
    const ctn_hierarchy_t *same; /* an equal hierarchy that is built; or NULL */
    unsigned used;               /* chains */
    unsigned level;
    ctn_control_block_t *block[BLOCKS];
    unsigned char *slots; /* of all chains of a small hidden group */
    ctn_chain_t chain[CHAINS];
    ctn_member_record_t *record; /* of this rank */
    ctn_module_t *module;        /* of this level, not in use yet */
    ctn_module_entry_t *modules;
    ctn_rank_blocks_t blocks;
    facts_t own, left, right;
    ctn_bins_t own_bins, left_bins, right_bins;
} hierarchy_build_t;

static hierarchy_build_t *build_of(ctn_op_t *op)
{
    return *(hierarchy_build_t **)ctn_op_state(op);
}

static void note(hierarchy_build_t *build, catena_status_t status)
{
    build->status = status < build->status ? status : build->status;
}

static ctn_chain_t *chain_of_subgroup(hierarchy_build_t *build)
{
    return &build->chain[1 + build->level];
}

/** The participants of this level. */
static ctn_chain_t *chain_of_level(hierarchy_build_t *build)
{
    return build->level == 0 ? &build->all->group->chain : &build->chain[0];
}

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

static facts_t agreed(const hierarchy_build_t *build)
{
    facts_t facts = build->own;
    fold_facts(&facts, &build->left, 1);
    fold_facts(&facts, &build->right, 0);
    return facts;
}

/* ---- settings ---- */

static bool is_automatic(const hierarchy_build_t *build)
{
    return build->levels.count == 0;
}

/** Of two consecutive ranks with different settings, the higher one logs it. */
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
        group->chain.place.rank, list);
}

/* ---- chains ---- */

/** Allocate the control blocks for all levels beforehand. A rank without memory
 * can then still report that to the others. */
static catena_status_t take_control_blocks(hierarchy_build_t *build)
{
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
        if (build->block[i] == NULL) {
            return CATENA_ERR_NO_MEMORY;
        }
    }
    return CATENA_OK;
}

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
                             .offset = ctn_offset_of(group->exec, block)};
    ctn_chain_init(&build->chain[i], block, address, base);
    build->used = i + 1 > build->used ? i + 1 : build->used;
}

/** Free the control blocks. All members have agreed since they used them, so no
 * one accesses them. If the network failed, a member may still put, and the
 * blocks stay until the heap is released. */
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

/* ---- before ---- */

enum {
    PHASE_WAIT,
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

/** Wait until this operation is the group's oldest. Child operations run on the
 * group's chain, one at a time. */
static ctn_step_t wait_until_oldest(ctn_op_t *op)
{
    return ctn_op_is_oldest(op) ? CTN_STEP_NEXT : CTN_STEP_WAIT;
}

/** An earlier hierarchy that equals this one. All operations begun before this
 * one are complete, and all ranks agreed on what was built, so all ranks find
 * the same. */
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

static void find_names(hierarchy_build_t *build)
{
    for (unsigned i = 0; i < build->levels.count; i++) {
        note(build, build->levels.level[i].rule->find(build->all->group,
                                                      build->name[i]));
    }
}

/** Whether this rank and the one before it share no heap. If no two consecutive
 * ranks are apart, all ranks share one heap. */
static bool is_apart(const catena_group_t *group)
{
    ctn_address_t left = group->chain.place.left;
    ctn_endpoint_t *endpoint;
    return ctn_address_exists(left) &&
           (ctn_exec_connect(group->exec, left.process, &endpoint) !=
                CATENA_OK ||
            ctn_pointer(endpoint, left.offset) == NULL);
}

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

/** End the operation. All ranks end here, for the same reason. */
static ctn_step_t end_on_all(ctn_op_t *op, catena_status_t status)
{
    hierarchy_build_t *build = build_of(op);
    build->status = status;
    build->agreed = true;
    return ctn_op_jump(op, PHASE_HAND_OVER + 1);
}

static ctn_step_t decide(ctn_op_t *op)
{
    hierarchy_build_t *build = build_of(op);
    ctn_hierarchy_t *hierarchy = build->hierarchy;
    facts_t facts = agreed(build);
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
        note(build,
             ctn_hierarchy_levels_read(op->exec->log, "the default hierarchy",
                                       hierarchy->oversubscribed
                                           ? default_levels_oversubscribed
                                           : default_levels,
                                       &build->levels));
        if (build->status != CATENA_OK) { /* on all ranks */
            return end_on_all(op, build->status);
        }
        find_names(build);
    }
    open_chain(build, 0);
    return CTN_STEP_NEXT;
}

/* ---- a level ---- */

static ctn_step_t split_by_name(ctn_op_t *op)
{
    hierarchy_build_t *build = build_of(op);
    const char *name = build->name[build->level];
    open_chain(build, 1 + build->level);
    return ctn_op_call(op, ctn_split_create(op->exec, chain_of_level(build),
                                            chain_of_subgroup(build), name,
                                            strlen(name)));
}

/** The members of a subgroup agree on what their modules depend on. */
static ctn_step_t agree_in_subgroup(ctn_op_t *op)
{
    hierarchy_build_t *build = build_of(op);
    if (chain_of_subgroup(build)->place.size == 1) {
        return ctn_op_jump(op, PHASE_LEADERS);
    }
    return agree(op, chain_of_subgroup(build), 0,
                 op->exec->oversubscribed ? OVERSUBSCRIBED : 0);
}

static ctn_step_t exchange(ctn_op_t *op)
{
    hierarchy_build_t *build = build_of(op);
    ctn_chain_t *chain = chain_of_subgroup(build);
    const ctn_chain_place_t *place = &chain->place;
    const ctn_bcol_t *bcol = build->levels.level[build->level].bcol;
    ctn_member_record_t *record = build->record;
    record->memory.process = place->self.process;
    record->memory.offset = 0;
    note(build, (catena_status_t)agreed(build).status);
    if (build->status == CATENA_OK) {
        note(build, bcol->create(op->exec, place->size, place->rank,
                                 (agreed(build).flags & OVERSUBSCRIBED) != 0,
                                 build->all->group->hidden, &build->module,
                                 &record->memory.offset));
    }
    record->status = build->status;
    ctn_rank_block_t block = {record, ctn_member_record_bytes(record->ranges)};
    return ctn_op_call(
        op, ctn_chain_allgather(op->exec, chain, block, &build->blocks));
}

/** The leader represents all ranks of its subgroup from now on. */
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

static catena_status_t add_module(hierarchy_build_t *build)
{
    ctn_module_entry_t *entry = ctn_module_entry_create(
        &build->blocks, build->levels.level[build->level].rule,
        chain_of_subgroup(build)->place.rank,
        (agreed(build).flags & OVERSUBSCRIBED) != 0);
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
    return entry->sbgp.me == 0 ? represent_all(build, entry) : CATENA_OK;
}

static ctn_step_t take(ctn_op_t *op)
{
    hierarchy_build_t *build = build_of(op);
    note(build, ctn_member_records_status(&build->blocks));
    if (build->status == CATENA_OK) {
        note(build, add_module(build));
    }
    ctn_rank_blocks_release(op->exec, &build->blocks);
    return CTN_STEP_NEXT;
}

/** Bin 1 holds the leaders. The other bins are only counted. */
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

/* ---- after ---- */

static ctn_step_t report(ctn_op_t *op)
{
    hierarchy_build_t *build = build_of(op);
    return agree(op, &build->all->group->chain, 0,
                 build->hierarchy->in_order ? 0 : DISORDER);
}

static ctn_step_t hand_over(ctn_op_t *op)
{
    hierarchy_build_t *build = build_of(op);
    facts_t facts = agreed(build);
    build->hierarchy->in_order = (facts.flags & DISORDER) == 0;
    build->status = (catena_status_t)facts.status;
    build->agreed = true;
    return CTN_STEP_NEXT;
}

/** Destroy the modules of a hierarchy that could not be built. Nobody uses
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
    bool quiet = build->agreed && op->status == CATENA_OK;
    hierarchy->status = quiet ? build->status : op->status;
    if (build->module != NULL) { /* not used before all ranks report */
        build->module->bcol->destroy(build->module);
    }
    if (build->blocks.block != NULL) {
        ctn_rank_blocks_release(op->exec, &build->blocks);
    }
    if (quiet && hierarchy->status != CATENA_OK) {
        drop_modules(build);
    } else {
        ctn_module_entries_move(&build->all->modules, &build->modules);
    }
    if (quiet) {
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

static catena_status_t prepare(hierarchy_build_t *build, ctn_hierarchies_t *all,
                               ctn_hierarchy_t *hierarchy)
{
    build->all = all;
    build->hierarchy = hierarchy;
    build->record = ctn_member_record_of_rank(all->group->chain.place.rank);
    if (build->record == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    char list[CTN_COLL_COUNT * CTN_SETTING_BYTES];
    catena_status_t status = ctn_hierarchies_write(all, list);
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
                                    ctn_hierarchy_t *hierarchy)
{
    catena_group_t *group = all->group;
    hierarchy_build_t *build = calloc(1, sizeof(*build));
    if (build == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    catena_status_t status = prepare(build, all, hierarchy);
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
