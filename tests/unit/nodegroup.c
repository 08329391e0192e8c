#include "nodegroup.h"

#include <stdlib.h>
#include <string.h>

#include "group/chain_coll.h"

static const ctn_sbgp_rule_t whole_group = {.name = "group",
                                            .help = "all members"};

/** Where the members' memory is. */
static void learn_members(subgroup_t *s, uint64_t offset)
{
    job_t *job = s->job;
    ctn_lane_t *lane = &s->group->lane;
    ctn_address_t own = {lane->chain.self.process, offset};
    ctn_pieces_t pieces;
    JOB_CHECK(job, ctn_op_run(ctn_chain_allgather(
                       job->exec, lane, (ctn_piece_t){&own, sizeof(own)},
                       &pieces)) == CATENA_OK);
    for (uint32_t i = 0; i < s->sbgp.size; i++) {
        s->range[i] = (ctn_range_t){i, 1};
        s->sbgp.member[i] = (ctn_sbgp_member_t){.rank = i,
                                                .ranks = 1,
                                                .before = i,
                                                .ranges = 1,
                                                .range = &s->range[i]};
        memcpy(&s->sbgp.member[i].memory, pieces.piece[i].data, sizeof(own));
    }
    ctn_pieces_release(job->exec, &pieces);
}

void subgroup_open(subgroup_t *s, job_t *job, catena_group_t *group,
                   const ctn_bcol_t *bcol)
{
    const ctn_chain_t *chain = &group->lane.chain;
    uint64_t offset = 0;
    /* Simulated ranks are never crowded, but their memory may be laid out, and
     * algorithms chosen, as if they were. */
    bool crowded =
        job->exec->virtual_time ? job->seed % 2 != 0 : job->exec->crowded;
    *s = (subgroup_t){.job = job, .group = group};
    s->sbgp = (ctn_sbgp_t){.rule = &whole_group,
                           .size = chain->size,
                           .me = chain->rank,
                           .ranks = chain->size,
                           .in_order = true,
                           .crowded = crowded};
    s->sbgp.member = calloc(chain->size, sizeof(*s->sbgp.member));
    s->range = calloc(chain->size, sizeof(*s->range));
    JOB_CHECK(job, bcol->create(job->exec, chain->size, chain->rank, crowded,
                                &s->module, &offset) == CATENA_OK);
    learn_members(s, offset);
    JOB_CHECK(job, bcol->link(s->module, &s->sbgp) == CATENA_OK);
}

void subgroup_close(subgroup_t *s)
{
    ctn_exec_t *exec = s->job->exec;
    ctn_channel_settle(exec, s->module->channel);
    ctn_exec_deliver(exec);
    JOB_CHECK(s->job, ctn_op_run(ctn_chain_barrier(exec, &s->group->lane)) ==
                          CATENA_OK);
    s->module->bcol->destroy(s->module);
    free(s->sbgp.member);
    free(s->range);
}

void subgroup_run(subgroup_t *s, ctn_basic_kind_t kind,
                  const ctn_basic_t *basic)
{
    ctn_op_t *op = s->module->bcol->make[kind](s->module, basic);
    JOB_CHECK(s->job, ctn_op_run(op) == CATENA_OK);
}
