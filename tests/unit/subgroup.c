#include "subgroup.h"

#include <stdlib.h>
#include <string.h>

#include "group/chain_coll.h"

static const ctn_sbgp_rule_t whole_lane = {.name = "lane",
                                           .help = "all members"};

/** All members' memory, from what each of them tells. */
static catena_status_t exchange(subgroup_t *subgroup, ctn_address_t own)
{
    ctn_pieces_t pieces;
    catena_status_t status = ctn_op_run(
        ctn_chain_allgather(subgroup->job->exec, subgroup->lane,
                            (ctn_piece_t){&own, sizeof(own)}, &pieces));
    if (status != CATENA_OK) {
        return status;
    }
    for (uint32_t i = 0; i < subgroup->sbgp.size; i++) {
        ctn_sbgp_member_t *member = &subgroup->sbgp.member[i];
        subgroup->ranges[i] = (ctn_range_t){i, 1};
        *member = (ctn_sbgp_member_t){.rank = i,
                                      .ranks = 1,
                                      .before = i,
                                      .ranges = 1,
                                      .range = &subgroup->ranges[i]};
        memcpy(&member->memory, pieces.piece[i].data, sizeof(own));
    }
    ctn_pieces_release(subgroup->job->exec, &pieces);
    return CATENA_OK;
}

static void forget(subgroup_t *subgroup)
{
    free(subgroup->sbgp.member);
    free(subgroup->ranges);
    if (subgroup->module != NULL) {
        subgroup->module->bcol->destroy(subgroup->module);
    }
}

catena_status_t subgroup_open(subgroup_t *subgroup, job_t *job,
                              ctn_lane_t *lane, const ctn_bcol_t *bcol)
{
    const ctn_chain_t *chain = &lane->chain;
    /* Simulated ranks are never crowded, but their memory may be laid out, and
     * algorithms chosen, as if they were. */
    bool crowded =
        job->exec->virtual_time ? job->seed % 2 != 0 : job->exec->crowded;
    *subgroup = (subgroup_t){.job = job, .lane = lane};
    subgroup->sbgp = (ctn_sbgp_t){
        .rule = &whole_lane,
        .size = chain->size,
        .me = chain->rank,
        .ranks = chain->size,
        .in_order = true,
        .crowded = crowded,
        .member = calloc(chain->size, sizeof(ctn_sbgp_member_t)),
    };
    subgroup->ranges = calloc(chain->size, sizeof(ctn_range_t));
    ctn_address_t own = {.process = chain->self.process};
    catena_status_t status =
        bcol->create(job->exec, chain->size, chain->rank, crowded,
                     &subgroup->module, &own.offset);
    if (status == CATENA_OK) {
        status = exchange(subgroup, own);
    }
    if (status == CATENA_OK) {
        status = bcol->link(subgroup->module, &subgroup->sbgp);
    }
    if (status == CATENA_OK) { /* all have linked theirs */
        status = ctn_op_run(ctn_chain_barrier(job->exec, lane));
    }
    if (status != CATENA_OK) {
        forget(subgroup);
    }
    return status;
}

void subgroup_close(subgroup_t *subgroup)
{
    ctn_exec_t *exec = subgroup->job->exec;
    ctn_channel_settle(exec, subgroup->module->channel);
    ctn_exec_deliver(exec);
    (void)ctn_op_run(ctn_chain_barrier(exec, subgroup->lane));
    forget(subgroup);
}

catena_status_t subgroup_run(const subgroup_t *subgroup, ctn_basic_kind_t kind,
                             const ctn_basic_t *basic)
{
    return ctn_op_run(
        subgroup->module->bcol->make[kind](subgroup->module, basic));
}
