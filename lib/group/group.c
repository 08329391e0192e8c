#include "group/group.h"

#include <stdlib.h>
#include <string.h>

/* ---- which there are ---- */

static void join_list(catena_group_t *group)
{
    group->older = group->exec->groups;
    group->exec->groups = group;
}

/** They are few: each has a block of the heap. One that is freed has left
 * already. */
static void leave_list(const catena_group_t *group)
{
    catena_group_t **link = &group->exec->groups;
    while (*link != NULL && *link != group) {
        link = &(*link)->older;
    }
    if (*link != NULL) {
        *link = group->older;
    }
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

/* ---- parting ---- */

/* Members part by a scan on slots of its own. When it is complete here all
 * members have begun to free the group, so all have completed everything
 * before; and every put aimed at this member has arrived. Nothing late can land
 * in the memory that is given back: not even words that nobody waits for, which
 * have been delivered before. Nobody waits for that: the scan runs aside. */

typedef struct parting {
    ctn_scan_t scan; /* first: its phases run here */
    catena_group_t *group;
    bool flush;
    bool keep; /* the caller releases the group */
    ctn_channel_t channel;
    ctn_words_t own;
    ctn_words_t left;
    ctn_words_t right;
} parting_t;

/** No operation of the group is under way, not even one that nobody waits
 * for. */
static bool is_quiet(const catena_group_t *group)
{
    bool quiet = ctn_channel_under_way(&group->channel) == 0 &&
                 ctn_channel_under_way(&group->lane.channel) == 0;
    for (const ctn_attachment_t *attachment = group->attachments;
         quiet && attachment != NULL; attachment = attachment->next) {
        quiet = attachment->quiet == NULL || attachment->quiet(attachment);
    }
    return quiet;
}

static bool ready(const ctn_op_t *op)
{
    return is_quiet(((const parting_t *)(const void *)op->memory)->group);
}

/** Stores of the simulator are slow, and those that nobody waits for are late
 * at most where it has no memory to tell; those of processors come in order.
 * What goes by the network is waited for only where no operation has. */
static ctn_step_t flush(ctn_op_t *op)
{
    const parting_t *parting = ctn_op_state(op);
    ctn_transport_t *local = op->exec->local;
    ctn_transport_t *network = op->exec->network;
    catena_status_t status = CATENA_OK;
    if (op->exec->virtual_time) {
        (void)local->ops->flush(local, &op->pending);
    } else if (parting->flush && network != NULL) {
        status = network->ops->flush(network, &op->pending);
    }
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

static ctn_step_t deliver(ctn_op_t *op)
{
    return op->pending == 0 ? CTN_STEP_NEXT : CTN_STEP_WAIT;
}

static void part(ctn_op_t *op)
{
    const parting_t *parting = ctn_op_state(op);
    if (!parting->keep) { /* others may be at the next turn already */
        ctn_channel_clear(op->exec, op->channel);
        ctn_group_release(parting->group);
    }
}

static const ctn_phase_t parting_phases[] = {{"flush", flush},
                                             {"deliver", deliver},
                                             {"begin", ctn_scan_begin},
                                             {"rounds", ctn_scan_rounds},
                                             {NULL, NULL}};

static const ctn_algorithm_t parting_algorithm = {
    .name = "parting",
    .state_bytes = sizeof(parting_t),
    .phases = parting_phases,
    .synchronizing = true,
    .finish = part,
    .ready = ready,
};

/** NULL: no memory. */
static ctn_op_t *create_parting(catena_group_t *group, unsigned turn,
                                uint64_t value)
{
    ctn_op_t *op = ctn_op_create(group->exec, &parting_algorithm, NULL);
    if (op == NULL) {
        return NULL;
    }
    parting_t *parting = ctn_op_state(op);
    ctn_channel_t *channel = &parting->channel;
    ctn_channel_set(channel, &group->block->parting[0][0], CTN_PARTING_RINGS,
                    1);
    channel->base = offsetof(ctn_block_t, parting);
    channel->brittle = true;
    channel->complete += turn;
    channel->started += turn + 1;
    parting->group = group;
    parting->own.word[0] = value;
    parting->scan.chain = &group->lane.chain;
    parting->scan.fold = ctn_fold_sum;
    parting->scan.bytes = sizeof(ctn_words_t);
    parting->scan.own = (unsigned char *)&parting->own;
    parting->scan.from[0] = (unsigned char *)&parting->left;
    parting->scan.from[1] = (unsigned char *)&parting->right;
    op->channel = channel;
    op->seq = channel->complete;
    return op;
}

/** Whether the caller has operations under way that it should have completed.
 */
static bool is_busy(const catena_group_t *group)
{
    uint64_t under_way =
        ctn_channel_under_way(&group->channel) + group->composed;
    if (under_way == group->channel.detached) {
        return false;
    }
    ctn_error(group->exec->log,
              "a group is freed with %llu of its operations under way; "
              "complete them first",
              (unsigned long long)(under_way - group->channel.detached));
    return true;
}

catena_status_t ctn_group_free(catena_group_t *group, bool flush_links)
{
    if (is_busy(group)) {
        return CATENA_ERR_STATE;
    }
    ctn_op_t *op = create_parting(group, 0, 0);
    ctn_exec_t *exec = group->exec;
    if (op == NULL) {
        ctn_exec_break(exec, CATENA_ERR_NO_MEMORY);
        return CATENA_ERR_NO_MEMORY;
    }
    ((parting_t *)ctn_op_state(op))->flush = flush_links;
    op->detached = true;
    op->channel->detached = 1;
    leave_list(group);
    ctn_op_start_aside(op);
    return exec->status;
}

catena_status_t ctn_group_meet(catena_group_t *group, unsigned turn,
                               uint64_t *sum)
{
    if (is_busy(group)) {
        return CATENA_ERR_STATE;
    }
    ctn_exec_t *exec = group->exec;
    ctn_op_t *op = create_parting(group, turn, *sum);
    if (op == NULL) {
        ctn_exec_break(exec, CATENA_ERR_NO_MEMORY);
        return CATENA_ERR_NO_MEMORY;
    }
    parting_t *parting = ctn_op_state(op);
    parting->keep = true;
    ctn_op_start_aside(op);
    ctn_patience_t patience = {0};
    while (op->state != CTN_OP_DONE) {
        ctn_exec_poll_or_idle(exec, &patience);
    }
    catena_status_t status = op->status;
    *sum =
        parting->own.word[0] + parting->left.word[0] + parting->right.word[0];
    ctn_op_release(op);
    return status;
}

size_t ctn_groups_release(ctn_exec_t *exec)
{
    size_t count = 0;
    while (exec->aside != NULL) {
        ctn_op_t *op = exec->aside;
        exec->aside = op->next;
        ctn_group_release(((parting_t *)ctn_op_state(op))->group);
        op->state = CTN_OP_DONE;
        ctn_op_release(op);
    }
    for (; exec->groups != NULL; count++) {
        ctn_group_release(exec->groups);
    }
    return count;
}

catena_status_t catena_group_free(catena_group_t *group)
{
    return group != NULL && !group->permanent ? ctn_group_free(group, false)
                                              : CATENA_ERR_ARG;
}
