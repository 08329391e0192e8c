/* Building a level of a hierarchy: its subgroups, their modules, and the chain
 * of their leaders; see build.c. */

#include <stdlib.h>
#include <string.h>

#include "coll/hierarchy/build.h"
#include "core/hash.h"
#include "split/split.h"

void ctn_build_make_module(ctn_hierarchy_build_t *build,
                           const ctn_chain_place_t *place, bool oversubscribed)
{
    const ctn_bcol_t *bcol = build->levels.level[build->level].bcol;
    ctn_member_record_t *record = build->record;
    record->memory =
        (ctn_address_t){.process = place->self.process, .offset = 0};
    if (build->status == CATENA_OK) {
        ctn_build_note(build,
                       bcol->create(bcol, build->all->group->exec, place->size,
                                    place->rank, oversubscribed, &build->module,
                                    &record->memory.offset));
    }
    if (build->module != NULL) {
        build->module->sequence->failure = build->all->group->sequence.failure;
    }
    record->status = build->status;
}

catena_status_t ctn_build_add_module(ctn_hierarchy_build_t *build,
                                     const ctn_rank_blocks_t *records,
                                     uint32_t me, bool oversubscribed)
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
    if (entry->sbgp.nodes > hierarchy->nodes) {
        hierarchy->nodes = entry->sbgp.nodes;
    }
    hierarchy->in_order &= entry->sbgp.in_order;
    hierarchy->balanced &= entry->sbgp.balanced;
    return CATENA_OK;
}

/* ---- the phases of a level ---- */

/** Split the participants of the level into subgroups. */
ctn_step_t ctn_build_split_by_name(ctn_op_t *op)
{
    ctn_hierarchy_build_t *build = ctn_build_of(op);
    const char *name = build->name[build->level];
    ctn_build_open_chain(build, 1 + build->level);
    return ctn_op_call(op, ctn_split_create(op->exec,
                                            ctn_build_chain_of_level(build),
                                            ctn_build_chain_of_subgroup(build),
                                            name, strlen(name)));
}

/** The members of a subgroup agree on what their modules depend on. A rank that
 * is alone in its subgroup needs no module. */
ctn_step_t ctn_build_agree_in_subgroup(ctn_op_t *op)
{
    ctn_hierarchy_build_t *build = ctn_build_of(op);
    if (ctn_build_chain_of_subgroup(build)->place.size == 1) {
        return ctn_op_jump(op, CTN_BUILD_PHASE_LEADERS);
    }
    return ctn_build_agree(op, ctn_build_chain_of_subgroup(build), 0,
                           op->exec->oversubscribed ? CTN_BUILD_OVERSUBSCRIBED
                                                    : 0);
}

/** Make this rank's module and exchange records with the other members. */
ctn_step_t ctn_build_exchange(ctn_op_t *op)
{
    ctn_hierarchy_build_t *build = ctn_build_of(op);
    ctn_chain_t *chain = ctn_build_chain_of_subgroup(build);
    ctn_build_facts_t facts = ctn_build_agreed_facts(build);
    ctn_build_note_other(build, (catena_status_t)facts.status);
    build->record->node =
        (uint32_t)ctn_hash_add_text(0, op->exec->locality->node);
    ctn_build_make_module(build, &chain->place,
                          (facts.flags & CTN_BUILD_OVERSUBSCRIBED) != 0);
    ctn_rank_block_t block = {build->record,
                              ctn_member_record_bytes(build->record->ranges)};
    return ctn_op_call(
        op, ctn_chain_allgather(op->exec, chain, block, &build->blocks));
}

/** The leader of a subgroup represents all its ranks in the levels above. */
static catena_status_t represent_all(ctn_hierarchy_build_t *build,
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
ctn_step_t ctn_build_take(ctn_op_t *op)
{
    ctn_hierarchy_build_t *build = ctn_build_of(op);
    uint32_t me = ctn_build_chain_of_subgroup(build)->place.rank;
    bool oversubscribed =
        (ctn_build_agreed_facts(build).flags & CTN_BUILD_OVERSUBSCRIBED) != 0;
    ctn_build_note_other(build, ctn_member_records_status(&build->blocks));
    if (build->status == CATENA_OK) {
        ctn_build_note(build, ctn_build_add_module(build, &build->blocks, me,
                                                   oversubscribed));
    }
    if (build->status == CATENA_OK && me == 0) {
        ctn_build_note(build, represent_all(build, build->modules));
    }
    ctn_rank_blocks_release(op->exec, &build->blocks);
    return CTN_STEP_NEXT;
}

/** Find the leaders' neighbors in their chain, by a scan with bins
 * (split/bins.h): leaders are in bin 1, the other participants in bin 0. If the
 * subgroup has all participants, this level is the last one. */
ctn_step_t ctn_build_find_leaders(ctn_op_t *op)
{
    ctn_hierarchy_build_t *build = ctn_build_of(op);
    const ctn_chain_place_t *place = &ctn_build_chain_of_subgroup(build)->place;
    ctn_chain_t *level = ctn_build_chain_of_level(build);
    if (place->size == level->place.size) {
        build->hierarchy->top = true;
        return ctn_op_jump(op, CTN_BUILD_PHASE_REPORT);
    }
    ctn_bins_set(&build->own_bins, place->rank == 0,
                 build->chain[0].place.self);
    return ctn_op_call(op,
                       ctn_scan_create(op->exec, level, ctn_fold_bins,
                                       &build->own_bins, &build->left_bins,
                                       &build->right_bins, sizeof(ctn_bins_t)));
}

/** Leaders go on with the next level; the other ranks are done. */
ctn_step_t ctn_build_climb(ctn_op_t *op)
{
    ctn_hierarchy_build_t *build = ctn_build_of(op);
    if (ctn_build_chain_of_subgroup(build)->place.rank != 0) {
        return ctn_op_jump(op, CTN_BUILD_PHASE_REPORT);
    }
    ctn_chain_t *leaders = &build->chain[0];
    ctn_chain_set_place(leaders, ctn_bin_place(&build->left_bins.bin[1],
                                               &build->right_bins.bin[1],
                                               leaders->place.self));
    if (build->level + 1 < build->levels.count) {
        build->level++;
        return ctn_op_jump(op, CTN_BUILD_PHASE_SPLIT);
    }
    if (build->status == CATENA_OK) {
        ctn_error(leaders->place.rank == 0 ? op->exec->log : ctn_log_kept(),
                  "hierarchy '%s' ends with %u subgroups, which nothing joins; "
                  "append network:ucx",
                  build->hierarchy->text, leaders->place.size);
    }
    ctn_build_note(build, CATENA_ERR_ARG);
    return CTN_STEP_NEXT;
}
