#include "group/group.h"

#include <stdlib.h>
#include <string.h>

#include "group/order.h"

catena_status_t ctn_group_create(ctn_exec_t *exec, const ctn_site_t *site,
                                 const ctn_config_t *config,
                                 catena_group_t **out)
{
    catena_group_t *group = calloc(1, sizeof(*group));
    if (group == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    group->exec = exec;
    group->site = site;
    group->config = config;
    group->block = ctn_block_take(exec);
    if (group->block == NULL) {
        free(group);
        return CATENA_ERR_NO_MEMORY;
    }
    ctn_address_t address = {.process = site->process};
    (void)ctn_heap_contains(exec->heap, group->block, sizeof(ctn_block_t),
                            &address.offset);
    ctn_lane_init(&group->lane, group->block, address,
                  offsetof(ctn_block_t, service));
    ctn_channel_init(&group->channel, group->block, offsetof(ctn_block_t, user),
                     CTN_FLIGHT);
    *out = group;
    return CATENA_OK;
}

void ctn_group_release(catena_group_t *group)
{
    while (group->attachments != NULL) {
        ctn_attachment_t *attachment = group->attachments;
        group->attachments = attachment->next;
        attachment->release(group->exec, attachment);
    }
    ctn_lane_release(&group->lane);
    ctn_channel_clear(&group->channel);
    ctn_block_give(group->exec, group->block);
    free(group);
}

ctn_attachment_t *ctn_group_find(const catena_group_t *group, const void *key)
{
    ctn_attachment_t *found = group->attachments;
    while (found != NULL && found->key != key) {
        found = found->next;
    }
    return found;
}

void ctn_group_attach(catena_group_t *group, ctn_attachment_t *attachment)
{
    attachment->next = group->attachments;
    group->attachments = attachment;
}

int catena_group_rank(const catena_group_t *group)
{
    return (int)group->lane.chain.rank;
}

int catena_group_size(const catena_group_t *group)
{
    return (int)group->lane.chain.size;
}

/** Split by color into a group of its own, then order by key. */
static catena_status_t split(catena_group_t *group, const void *color,
                             size_t color_bytes, int64_t key,
                             catena_group_t **out)
{
    catena_group_t *made = NULL;
    /* What operations build for the group, they build on its chain: not while
     * the chain is used here. All members have started the same ones. */
    ctn_channel_settle(group->exec, &group->channel);
    catena_status_t status =
        ctn_group_create(group->exec, group->site, group->config, &made);
    if (status != CATENA_OK) {
        return status;
    }
    status = ctn_op_run(ctn_split_create(group->exec, &group->lane, &made->lane,
                                         color, color_bytes));
    if (status == CATENA_OK) {
        status = ctn_op_run(ctn_order_create(group->exec, &made->lane, key));
    }
    if (status != CATENA_OK) {
        ctn_group_release(made);
        return status;
    }
    *out = made;
    return CATENA_OK;
}

catena_status_t catena_group_split(catena_group_t *group, int color, int key,
                                   catena_group_t **out)
{
    if (group == NULL || out == NULL ||
        (color < 0 && color != CATENA_UNDEFINED)) {
        return CATENA_ERR_ARG;
    }
    catena_group_t *made = NULL;
    catena_status_t status = split(group, &color, sizeof(color), key, &made);
    if (status == CATENA_OK && color == CATENA_UNDEFINED) {
        /* Who wants no group has formed one with the others who do not. */
        status = catena_group_free(made);
        made = NULL;
    }
    if (status == CATENA_OK) {
        *out = made;
    }
    return status;
}

catena_status_t catena_group_split_level(catena_group_t *group,
                                         catena_level_t level, int key,
                                         catena_group_t **out)
{
    if (group == NULL || out == NULL || level != CATENA_LEVEL_NODE) {
        return CATENA_ERR_ARG;
    }
    const char *node = group->site->node;
    return split(group, node, strlen(node), key, out);
}

catena_status_t catena_group_dup(catena_group_t *group, catena_group_t **out)
{
    if (group == NULL || out == NULL) {
        return CATENA_ERR_ARG;
    }
    static const char same_color = 0;
    return split(group, &same_color, 1, 0, out);
}

/** When a scan is complete here, all members have begun to free the group, so
 * all have completed everything before; and every put aimed at this member
 * has arrived. Nothing late can land in the memory that is given back. */
static catena_status_t drain(catena_group_t *group)
{
    ctn_words_t own = {{0}};
    ctn_words_t left;
    ctn_words_t right;
    return ctn_op_run(ctn_scan_create(group->exec, &group->lane, ctn_fold_sum,
                                      &own, &left, &right, sizeof(own)));
}

catena_status_t catena_group_free(catena_group_t *group)
{
    if (group == NULL || group->permanent) {
        return CATENA_ERR_ARG;
    }
    uint64_t under_way = ctn_channel_under_way(&group->channel);
    if (under_way == group->channel.detached) {
        ctn_channel_settle(group->exec, &group->channel);
    } else {
        ctn_error(group->exec->log,
                  "a group is freed with %llu of its operations under way; "
                  "complete them first",
                  (unsigned long long)(under_way - group->channel.detached));
        return CATENA_ERR_STATE;
    }
    catena_status_t status = drain(group);
    ctn_group_release(group);
    return status;
}
