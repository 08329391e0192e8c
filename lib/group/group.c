#include "group/group.h"

#include <stdlib.h>
#include <string.h>

/* ---- which there are ---- */

static void join_list(catena_group_t *group)
{
    group->older = group->exec->groups;
    group->exec->groups = group;
}

/** They are few: each has a block of the heap. */
static void leave_list(const catena_group_t *group)
{
    catena_group_t **link = &group->exec->groups;
    while (*link != group) {
        link = &(*link)->older;
    }
    *link = group->older;
}

/* ---- making and releasing ---- */

catena_status_t ctn_group_create(ctn_exec_t *exec, catena_group_t **out)
{
    catena_group_t *group = calloc(1, sizeof(*group));
    if (group == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    group->exec = exec;
    group->block = ctn_block_take(exec);
    if (group->block == NULL) {
        free(group);
        return CATENA_ERR_NO_MEMORY;
    }
    ctn_address_t address = {.process = exec->site->process};
    (void)ctn_heap_contains(exec->heap, group->block, sizeof(ctn_block_t),
                            &address.offset);
    ctn_lane_init(&group->lane, group->block, address,
                  offsetof(ctn_block_t, service));
    ctn_channel_init(&group->channel, group->block, offsetof(ctn_block_t, user),
                     CTN_FLIGHT);
    join_list(group);
    *out = group;
    return CATENA_OK;
}

void ctn_group_release(catena_group_t *group)
{
    leave_list(group);
    while (group->attachments != NULL) {
        ctn_attachment_t *attachment = group->attachments;
        group->attachments = attachment->next;
        attachment->release(group->exec, attachment);
    }
    ctn_lane_release(group->exec, &group->lane);
    ctn_channel_clear(group->exec, &group->channel);
    ctn_block_give(group->exec, group->block);
    free(group);
}

size_t ctn_groups_release(ctn_exec_t *exec)
{
    size_t count = 0;
    for (; exec->groups != NULL; count++) {
        ctn_group_release(exec->groups);
    }
    return count;
}

void ctn_group_attach(catena_group_t *group, ctn_attachment_t *attachment)
{
    attachment->next = group->attachments;
    group->attachments = attachment;
}

int catena_group_rank(const catena_group_t *group)
{
    return group != NULL ? (int)group->lane.chain.rank : -1;
}

int catena_group_size(const catena_group_t *group)
{
    return group != NULL ? (int)group->lane.chain.size : 0;
}

/** The chain, over the channel for parting: who is too early need not end first
 * what the others may never begin. */
static void set_parting(const catena_group_t *group, ctn_lane_t *lane)
{
    ctn_channel_t *channel = &lane->channel;
    lane->chain = group->lane.chain;
    lane->log = NULL;
    ctn_channel_set(channel, &group->block->parting[0][0], CTN_PARTING_RINGS,
                    1);
    channel->base = offsetof(ctn_block_t, parting);
    channel->brittle = true;
    channel->started += group->partings;
    channel->complete += group->partings;
    channel->synchronized += group->partings;
}

/** When a scan is complete here, all members have begun to free the group, so
 * all have completed everything before; and every put aimed at this member
 * has arrived. Nothing late can land in the memory that is given back: not even
 * words that nobody waits for, which have been delivered before.
 * @param busy this member has not; then it ends with ERR_STATE on all */
static catena_status_t drain(catena_group_t *group, bool busy)
{
    ctn_words_t own = {{busy}};
    ctn_words_t left;
    ctn_words_t right;
    ctn_lane_t lane;
    ctn_exec_deliver(group->exec);
    set_parting(group, &lane);
    group->partings++;
    catena_status_t status = ctn_op_run_or_break(
        group->exec, ctn_scan_create(group->exec, &lane, ctn_fold_sum, &own,
                                     &left, &right, sizeof(own)));
    if (status == CATENA_OK) {
        busy = busy || left.word[0] > 0 || right.word[0] > 0;
    }
    if (!busy) {
        ctn_channel_clear(group->exec, &lane.channel);
    }
    return busy ? CATENA_ERR_STATE : status;
}

/** Let the fences end that are under way. */
static void settle(catena_group_t *group)
{
    ctn_channel_settle(group->exec, &group->channel);
    ctn_channel_settle(group->exec, &group->lane.channel);
    for (ctn_attachment_t *attachment = group->attachments; attachment != NULL;
         attachment = attachment->next) {
        if (attachment->settle != NULL) {
            attachment->settle(group->exec, attachment);
        }
    }
}

catena_status_t ctn_group_free(catena_group_t *group, bool busy)
{
    uint64_t under_way =
        ctn_channel_under_way(&group->channel) + group->composed;
    if (under_way != group->channel.detached) {
        busy = true;
        ctn_error(group->exec->log,
                  "a group is freed with %llu of its operations under way; "
                  "complete them first",
                  (unsigned long long)(under_way - group->channel.detached));
    }
    if (!busy) {
        settle(group);
    }
    catena_status_t status = drain(group, busy);
    if (status != CATENA_ERR_STATE) {
        ctn_group_release(group);
    }
    return status;
}

catena_status_t catena_group_free(catena_group_t *group)
{
    return group != NULL && !group->permanent ? ctn_group_free(group, false)
                                              : CATENA_ERR_ARG;
}
