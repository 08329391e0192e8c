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

#include "coll/hierarchy/build.h"
#include "core/hash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The default hierarchies. */
static const char default_levels[] = "numa:shm,node:shm,network:ucx";
static const char default_levels_oversubscribed[] = "node:shm,network:ucx";

/* ---- agreement ---- */

/** Combine function of the double scan: add the facts of ranks that are farther
 * from this one to those of nearer ranks. */
static void fold_facts(void *nearer, const void *farther, int in_is_left)
{
    ctn_build_facts_t *a = nearer;
    const ctn_build_facts_t *b = farther;
    (void)in_is_left;
    if (a->ranks == 0) {
        *a = *b;
    } else if (b->ranks > 0) {
        a->flags |= b->flags | (a->digest != b->digest ? CTN_BUILD_DIFFER : 0);
        a->ranks += b->ranks;
        a->status = b->status < a->status ? b->status : a->status;
        a->nodes = b->nodes > a->nodes ? b->nodes : a->nodes;
    }
}

void ctn_build_note(ctn_hierarchy_build_t *build, catena_status_t status)
{
    if (status == CATENA_ERR_NO_MEMORY && build->status == CATENA_OK) {
        ctn_error(build->all->group->exec->log,
                  "no memory for the part of this rank in a hierarchy; the "
                  "calls that need it fail on all ranks of the group");
    }
    build->status = status < build->status ? status : build->status;
}

void ctn_build_note_other(ctn_hierarchy_build_t *build, catena_status_t status)
{
    if (status != CATENA_OK && build->status == CATENA_OK) {
        ctn_error(ctn_log_kept(),
                  "hierarchy '%s' cannot be built; another rank has logged the "
                  "reason",
                  build->hierarchy->text);
    }
    build->status = status < build->status ? status : build->status;
}

/* ---- temporary chains ---- */

/* Offsets of their slots in a control block. */
static const uint32_t bases[CTN_BUILD_BLOCK_CHAINS] = {
    offsetof(ctn_control_block_t, chain),
    offsetof(ctn_control_block_t, subchain[0]),
    offsetof(ctn_control_block_t, subchain[1])};

ctn_step_t ctn_build_agree(ctn_op_t *op, ctn_chain_t *chain, uint64_t digest,
                           uint32_t flags)
{
    ctn_hierarchy_build_t *build = ctn_build_of(op);
    build->own = (ctn_build_facts_t){.digest = digest,
                                     .ranks = 1,
                                     .flags = flags,
                                     .status = build->status,
                                     .nodes = build->hierarchy->nodes};
    return ctn_op_call(op,
                       ctn_scan_create(op->exec, chain, fold_facts, &build->own,
                                       &build->left, &build->right,
                                       sizeof(ctn_build_facts_t)));
}

ctn_build_facts_t ctn_build_agreed_facts(const ctn_hierarchy_build_t *build)
{
    ctn_build_facts_t facts = build->own;
    fold_facts(&facts, &build->left, 1);
    fold_facts(&facts, &build->right, 0);
    return facts;
}

/* ---- settings ---- */

/** Log that this rank and the one before it have different settings, if so. */
static void report_different_settings(const ctn_hierarchy_build_t *build)
{
    const catena_group_t *group = build->all->group;
    if (build->left.ranks == 0 || build->left.digest == build->own.digest) {
        return;
    }
    char list[CTN_COLL_COUNT * CTN_SETTING_BYTES];
    (void)ctn_hierarchies_write(build->all, list);
    ctn_error(
        group->exec->log,
        "ranks %u and %u of a group have different settings of collectives; "
        "expected "
        "the same settings CATENA_HIERARCHY, CATENA_<COLLECTIVE>_HIERARCHY, "
        "CATENA_<COLLECTIVE>_ALGORITHM, CATENA_REPRODUCIBLE and of "
        "catena_group_set on all ranks, "
        "found on rank %u: %s",
        group->chain.place.rank - 1, group->chain.place.rank,
        group->chain.place.rank, list[0] != '\0' ? list : "auto for all");
}

/* ---- chains ---- */

/** Allocate the control blocks for all levels beforehand. A rank without memory
 * can then still report that to the others. */
static catena_status_t take_control_blocks(ctn_hierarchy_build_t *build)
{
    /* 3: the levels of default_levels */
    unsigned levels = ctn_build_is_automatic(build) ? 3 : build->levels.count;
    uint32_t size = build->all->group->chain.place.size;
    ctn_exec_t *exec = build->all->group->exec;
    if (build->same != NULL || size == 1) {
        return CATENA_OK;
    }
    for (unsigned i = 0; i < 1 + levels; i++) {
        ctn_control_block_t **block = &build->block[i / CTN_BUILD_BLOCK_CHAINS];
        unsigned chain = i % CTN_BUILD_BLOCK_CHAINS;
        if (chain == 0) {
            *block = ctn_control_block_get(exec);
        }
        if (*block == NULL ||
            !ctn_heap_take(
                exec->heap, (unsigned char *)*block + bases[chain],
                ctn_chain_slots_bytes(size, CTN_CHAIN_ROUND_SLOTS))) {
            return CATENA_ERR_NO_MEMORY;
        }
    }
    return CATENA_OK;
}

void ctn_build_open_chain(ctn_hierarchy_build_t *build, unsigned i)
{
    const catena_group_t *group = build->all->group;
    void *block = build->block[i / CTN_BUILD_BLOCK_CHAINS];
    uint32_t base = bases[i % CTN_BUILD_BLOCK_CHAINS];
    ctn_address_t address = {.process = group->exec->locality->process,
                             .offset =
                                 ctn_heap_offset(group->exec->heap, block)};
    ctn_chain_init(&build->chain[i], block, address, base,
                   group->chain.place.size);
    build->chain[i].sequence.failure = group->sequence.failure;
    build->used = i + 1 > build->used ? i + 1 : build->used;
}

/** Free the control blocks. All ranks have agreed on the outcome after the last
 * use of the temporary chains, so no rank accesses the blocks any more. This is
 * not called if the network failed: a rank may then still put into a block, so
 * the blocks stay until the heap is released. */
static void free_control_blocks(ctn_hierarchy_build_t *build)
{
    for (unsigned i = 0; i < build->used; i++) {
        ctn_chain_release(build->all->group->exec, &build->chain[i]);
    }
    for (unsigned i = 0; i < CTN_BUILD_BLOCKS; i++) {
        if (build->block[i] != NULL) {
            ctn_control_block_put(build->all->group->exec, build->block[i]);
        }
    }
}

/* ---- before the first level ---- */

/** Wait until this operation is the group's oldest: its child operations run on
 * the group's chain, which serves one operation at a time. `after` is built
 * then. If it failed because settings differ, other ranks may not build this
 * hierarchy, and have given its number to another operation: see
 * ctn_op_give_up.
 * If it failed with the same status on all ranks for another reason, all of
 * them have the setting and build this one. Otherwise this operation fails,
 * too. */
static ctn_step_t wait_until_oldest(ctn_op_t *op)
{
    if (!ctn_op_is_oldest(op)) {
        return CTN_STEP_WAIT;
    }
    const ctn_hierarchy_t *after = ctn_build_of(op)->after;
    if (after == NULL || (after->agreed && !after->differ)) {
        return CTN_STEP_NEXT;
    }
    return ctn_op_fail(op, after->differ ? ctn_op_give_up(op, after->status)
                                         : after->status);
}

const ctn_hierarchy_t *ctn_build_find_same(const ctn_hierarchy_build_t *build)
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
static void find_names(ctn_hierarchy_build_t *build)
{
    for (unsigned i = 0; i < build->levels.count; i++) {
        ctn_build_note(build, ctn_sbgp_name(build->levels.level[i].rule,
                                            build->all->group, build->name[i]));
    }
}

void ctn_build_choose_levels(ctn_hierarchy_build_t *build, bool oversubscribed)
{
    ctn_build_note(
        build,
        ctn_hierarchy_levels_read(
            build->all->group->exec->log, "the default hierarchy",
            oversubscribed ? default_levels_oversubscribed : default_levels,
            &build->levels));
    find_names(build);
}

/** All ranks agree on the settings, the memory and the cores. */
static ctn_step_t agree_before(ctn_op_t *op)
{
    ctn_hierarchy_build_t *build = ctn_build_of(op);
    build->same = ctn_build_find_same(build);
    ctn_build_note(build, take_control_blocks(build));
    return ctn_build_agree(op, &build->all->group->chain, build->digest,
                           op->exec->oversubscribed ? CTN_BUILD_OVERSUBSCRIBED
                                                    : 0);
}

void ctn_build_take_over(ctn_hierarchy_t *hierarchy,
                         const ctn_hierarchy_t *same)
{
    hierarchy->levels = same->levels;
    memcpy(hierarchy->level, same->level, sizeof(hierarchy->level));
    hierarchy->top = same->top;
    hierarchy->nodes = same->nodes;
    hierarchy->in_order = same->in_order;
    hierarchy->balanced = same->balanced;
}

ctn_step_t ctn_build_end_different(ctn_op_t *op)
{
    ctn_hierarchy_build_t *build = ctn_build_of(op);
    ctn_build_note_other(build, CATENA_ERR_ARG);
    report_different_settings(build);
    build->hierarchy->differ = true;
    return ctn_build_end_on_all(op, CATENA_ERR_ARG);
}

ctn_step_t ctn_build_end_on_all(ctn_op_t *op, catena_status_t status)
{
    ctn_hierarchy_build_t *build = ctn_build_of(op);
    ctn_build_note_other(build, status);
    build->status = status;
    build->agreed = true;
    return ctn_op_jump(op, CTN_BUILD_PHASE_HAND_OVER + 1);
}

/** What follows from these facts: an error, nothing to build, or the levels. */
static ctn_step_t decide(ctn_op_t *op)
{
    ctn_hierarchy_build_t *build = ctn_build_of(op);
    ctn_hierarchy_t *hierarchy = build->hierarchy;
    ctn_build_facts_t facts = ctn_build_agreed_facts(build);
    if ((facts.flags & CTN_BUILD_DIFFER) != 0) {
        return ctn_build_end_different(op);
    }
    if (facts.status != CATENA_OK) {
        return ctn_build_end_on_all(op, (catena_status_t)facts.status);
    }
    if (build->same != NULL) {
        ctn_build_take_over(hierarchy, build->same);
        return ctn_build_end_on_all(op, CATENA_OK);
    }
    hierarchy->in_order = hierarchy->balanced = true;
    if (facts.ranks == 1) {
        return ctn_build_end_on_all(op, CATENA_OK);
    }
    if (ctn_build_is_automatic(build)) {
        ctn_build_choose_levels(build,
                                (facts.flags & CTN_BUILD_OVERSUBSCRIBED) != 0);
        if (build->status != CATENA_OK) { /* so on all ranks */
            return ctn_build_end_on_all(op, build->status);
        }
    }
    ctn_build_open_chain(build, 0);
    return CTN_STEP_NEXT;
}

/* ---- after the last level ---- */

/** All ranks agree on the outcome. */
static ctn_step_t report(ctn_op_t *op)
{
    ctn_hierarchy_build_t *build = ctn_build_of(op);
    const ctn_hierarchy_t *hierarchy = build->hierarchy;
    return ctn_build_agree(
        op, &build->all->group->chain, 0,
        (hierarchy->in_order ? 0 : CTN_BUILD_DISORDER) |
            (hierarchy->balanced ? 0 : CTN_BUILD_UNBALANCED));
}

/** Store the outcome; finish gives the modules to the group. */
static ctn_step_t hand_over(ctn_op_t *op)
{
    ctn_hierarchy_build_t *build = ctn_build_of(op);
    ctn_build_facts_t facts = ctn_build_agreed_facts(build);
    build->hierarchy->in_order = (facts.flags & CTN_BUILD_DISORDER) == 0;
    build->hierarchy->balanced = (facts.flags & CTN_BUILD_UNBALANCED) == 0;
    build->hierarchy->nodes = facts.nodes;
    ctn_build_note_other(build, (catena_status_t)facts.status);
    build->agreed = true;
    return CTN_STEP_NEXT;
}

/** Destroy the modules of a hierarchy that could not be built. No rank uses
 * them. */
static void drop_modules(ctn_hierarchy_build_t *build)
{
    ctn_hierarchy_t *hierarchy = build->hierarchy;
    hierarchy->levels = 0;
    hierarchy->top = false;
    ctn_module_entries_destroy(&build->modules);
}

static void finish(ctn_op_t *op)
{
    ctn_hierarchy_build_t *build = ctn_build_of(op);
    ctn_hierarchy_t *hierarchy = build->hierarchy;
    /* All ranks have ended, so nothing is in transit to this one. */
    bool ended_together = build->agreed && op->status == CATENA_OK;
    hierarchy->status = ended_together ? build->status : op->status;
    if (!ended_together && op->status == CATENA_ERR_NO_MEMORY) {
        /* Other members wait for this one. */
        (void)ctn_op_give_up(op, op->status);
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
    hierarchy->agreed = ended_together;
    hierarchy->state = CTN_BUILT;
}

static void release(ctn_op_t *op)
{
    ctn_hierarchy_build_t *build = ctn_build_of(op);
    free(build->record);
    free(build);
}

static const ctn_phase_t phases[] = {
    {"wait", wait_until_oldest},
    {"exchange on the node", ctn_build_exchange_on_node},
    {"decide on the node", ctn_build_decide_on_node},
    {"end on the node", ctn_build_end_on_node},
    {"agree", agree_before},
    {"decide", decide},
    {"split", ctn_build_split_by_name},
    {"agree in subgroup", ctn_build_agree_in_subgroup},
    {"exchange", ctn_build_exchange},
    {"take", ctn_build_take},
    {"find leaders", ctn_build_find_leaders},
    {"climb", ctn_build_climb},
    {"report", report},
    {"hand over", hand_over},
    {NULL, NULL}};

static const ctn_algorithm_t build_algorithm = {
    .name = "hierarchy",
    .state_bytes = sizeof(ctn_hierarchy_build_t *),
    .phases = phases,
    .synchronizing = true,
    .finish = finish,
    .release = release,
};

/* ---- starting ---- */

/** Set the arguments, by the settings as they are now. */
static catena_status_t prepare(ctn_hierarchy_build_t *build,
                               ctn_hierarchies_t *all,
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
                                    ctn_hierarchy_t *hierarchy, bool compare,
                                    const ctn_hierarchy_t *after)
{
    catena_group_t *group = all->group;
    ctn_hierarchy_build_t *build = calloc(1, sizeof(*build));
    if (build == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    catena_status_t status = prepare(build, all, hierarchy, compare);
    build->after = after;
    ctn_op_t *op =
        status == CATENA_OK
            ? ctn_op_create(group->exec, &build_algorithm, &group->sequence)
            : NULL;
    if (op == NULL) {
        free(build->record);
        free(build);
        return status != CATENA_OK ? status : CATENA_ERR_NO_MEMORY;
    }
    *(ctn_hierarchy_build_t **)ctn_op_state(op) = build;
    hierarchy->state = CTN_BUILDING;
    ctn_op_start_detached(op);
    return CATENA_OK;
}
