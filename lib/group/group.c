/* Groups: their handles and hidden duplicates, and their teardown. */

#include "group/group.h"
#include "core/entry.h"

#include <stdlib.h>
#include <string.h>

#include "core/refuse.h"
#include "group/check.h"
#include "group/recovery.h"

/* ---- creation and release ---- */

/** Take the slots of the teardown of a group of so many members, and what lies
 * before them. */
static bool take_teardown(ctn_exec_t *exec, const ctn_control_block_t *block,
                          uint32_t members)
{
    unsigned rounds = 1;
    while (rounds < 32 && UINT32_C(1) << rounds < members) {
        rounds++;
    }
    return ctn_heap_take(exec->heap, &block->given_up,
                         offsetof(ctn_control_block_t, teardown) -
                             offsetof(ctn_control_block_t, given_up) +
                             rounds * CTN_TEARDOWN_SLOTS / 32 *
                                 CTN_TEARDOWN_GENERATIONS * sizeof(ctn_slot_t));
}

/** Create a group with this control block; NULL: there is no memory for it.
 * @param bytes of the struct that begins with the group */
static catena_status_t create(ctn_exec_t *exec, ctn_control_block_t *block,
                              uint32_t members, size_t bytes, void *out)
{
    catena_group_t *group = block != NULL ? malloc(bytes) : NULL;
    /* A group can be freed even if there is no memory then. */
    if (group == NULL || !take_teardown(exec, block, members)) {
        ctn_control_block_put(exec, block);
        free(group);
        return CATENA_ERR_NO_MEMORY;
    }
    memset(group, 0, bytes);
    CTN_MARK_SET(group, CTN_GROUP);
    ctn_address_t address = {.process = exec->locality->process};
    (void)ctn_heap_contains(exec->heap, block, 1, &address.offset);
    group->exec = exec;
    ctn_chain_init(&group->chain, block, address,
                   offsetof(ctn_control_block_t, chain), members);
    group->chain.place.size = members;
    ctn_sequence_init(&group->sequence, block,
                      offsetof(ctn_control_block_t, user), CTN_FLIGHT);
    group->sequence.brittle = true;
    group->sequence.sparse_pages = CTN_SLOTS * sizeof(ctn_slots_t) / 4096;
    group->sequence.eager_page = (offsetof(ctn_control_block_t, eager) -
                                  offsetof(ctn_control_block_t, user)) /
                                 4096;
    group->sequence.eager_slots = CTN_EAGER_SLOTS;
    group->sequence.eager_units =
        CTN_EAGER_FRAGMENTS * CTN_EAGER_FRAGMENT_BYTES / CTN_EAGER_UNIT;
    ctn_groups_add(group);
    *(catena_group_t **)out = group;
    return CATENA_OK;
}

/** The same, of a group that may fail on its own. */
static catena_status_t create_whole(ctn_exec_t *exec,
                                    ctn_control_block_t *block,
                                    uint32_t members, catena_group_t **out)
{
    catena_status_t status = create(exec, block, members, sizeof(**out), out);
    if (status == CATENA_OK) {
        status = ctn_recovery_open(*out, members, NULL);
        if (status != CATENA_OK) {
            ctn_group_release(*out);
            *out = NULL;
        }
    }
    return status;
}

catena_status_t ctn_group_create(ctn_exec_t *exec, uint32_t members,
                                 catena_group_t **out)
{
    return create_whole(exec, ctn_control_block_get(exec), members, out);
}

catena_status_t ctn_group_create_world(ctn_exec_t *exec, size_t more,
                                       catena_group_t **out)
{
    return create(
        exec,
        ctn_heap_calloc(exec->heap, 4096, sizeof(ctn_control_block_t) + more),
        0, sizeof(**out), out); /* no sparse block */
}

catena_status_t ctn_group_take_more_eager(catena_group_t *group, unsigned slots)
{
    const unsigned char *block = (const void *)ctn_group_block(group);
    for (unsigned g = 0; g < CTN_GENERATIONS; g++) {
        if (!ctn_heap_take(group->exec->heap,
                           block + ctn_group_eager(group, g, 0),
                           slots * (size_t)ctn_group_eager_bytes(group))) {
            return CATENA_ERR_NO_MEMORY;
        }
    }
    group->eager_slots = (uint8_t)slots;
    return CATENA_OK;
}

static const char duplicates_key;

static ctn_duplicates_t *duplicates_in(ctn_attachment_t *attachment)
{
    return (void *)((unsigned char *)attachment -
                    offsetof(ctn_duplicates_t, attachment));
}

static void release_duplicates(ctn_exec_t *exec, ctn_attachment_t *attachment)
{
    (void)exec;
    ctn_refcount_drop(&duplicates_in(attachment)->users);
}

ctn_duplicates_t *ctn_duplicates_of(catena_group_t *group)
{
    ctn_attachment_t *found = ctn_group_find(group, &duplicates_key);
    if (found == NULL) {
        ctn_duplicates_t *duplicates = calloc(1, sizeof(*duplicates));
        if (duplicates != NULL) {
            found = &duplicates->attachment;
            found->key = &duplicates_key;
            found->release = release_duplicates;
            ctn_group_attach(group, found);
        }
    }
    return found != NULL ? duplicates_in(found) : NULL;
}

catena_status_t ctn_hidden_create(catena_group_t *of, ctn_hidden_t **out)
{
    ctn_exec_t *exec = of->exec;
    ctn_hidden_t *hidden = NULL;
    ctn_duplicates_t *duplicates = ctn_duplicates_of(of);
    if (duplicates == NULL ||
        create(exec, ctn_control_block_get(exec), of->chain.place.size,
               sizeof(*hidden), &hidden) != CATENA_OK) {
        return CATENA_ERR_NO_MEMORY;
    }
    hidden->of = of;
    hidden->requests = duplicates;
    ctn_refcount_get(&duplicates->users);
    hidden->group.hidden = true;
    hidden->group.sequence.failure = hidden->group.chain.sequence.failure =
        ctn_group_failure(of);
    hidden->group.sequence.eager_units = CTN_SMALL_EAGER_BYTES / CTN_EAGER_UNIT;
    hidden->group.chain.place.rank = of->chain.place.rank;
    hidden->group.sequence.flight = 0; /* until ctn_sequence_open */
    *out = hidden;
    return CATENA_OK;
}

/** Whether members that have not noticed its failure may access the memory of
 * a group. A hidden duplicate may outlive the group that it duplicates, whose
 * failure stays. */
static bool may_be_accessed(const catena_group_t *group)
{
    const ctn_failure_t *failure =
        group->hidden ? group->sequence.failure : ctn_group_failure(group);
    return failure != NULL && failure->status != CATENA_OK;
}

void ctn_group_release(catena_group_t *group)
{
    ctn_groups_remove(group);
    if (group->recorded != NULL && group->recorded->id != CTN_SCOPE_UNKNOWN) {
        group->recorded->id = CTN_SCOPE_NONE;
    }
    bool keeps = group->exec->keeps_memory;
    group->exec->keeps_memory = keeps || group->stays || may_be_accessed(group);
    while (group->attachments != NULL) {
        ctn_attachment_t *attachment = group->attachments;
        group->attachments = attachment->next;
        attachment->release(group->exec, attachment);
    }
    ctn_recovery_close(group);
    ctn_chain_release(group->exec, &group->chain);
    ctn_sequence_clear(group->exec, &group->sequence);
    if (group->hidden) {
        ctn_refcount_put(&((ctn_hidden_t *)group)->requests->users);
    }
    if (!group->stays) {
        ctn_control_block_put(group->exec, ctn_group_block(group));
    }
    group->exec->keeps_memory = keeps;
    CTN_MARK_SET(group, CTN_FREED);
    ctn_handle_free(group);
}

void ctn_group_attach(catena_group_t *group, ctn_attachment_t *attachment)
{
    attachment->next = group->attachments;
    group->attachments = attachment;
}

int catena_group_rank(const catena_group_t *group)
{
    return CTN_UNUSABLE(group, CTN_GROUP) ? -1 : (int)group->chain.place.rank;
}

int catena_group_size(const catena_group_t *group)
{
    return CTN_UNUSABLE(group, CTN_GROUP) ? 0 : (int)group->chain.place.size;
}

/* ---- teardown ---- */

/* Teardown is a double scan on slots that nothing else uses. When the scan is
 * complete here, all members have begun to free the group. So all of them have
 * completed every earlier operation, and every put to this member has arrived,
 * including words that no operation waits for: their senders flushed them
 * before the scan. So nothing is written to the memory after its release. The
 * scan runs in the background. */

typedef struct teardown {
    ctn_scan_t scan; /* first: its phases are used here */
    catena_group_t *group;
    bool flush_words;        /* see ctn_group_free */
    bool keep;               /* the caller waits, and releases the group */
    ctn_sequence_t sequence; /* of the scan alone */
    /* Values of the scan: this member's, and the sums of those to the left and
     * to the right. */
    ctn_words_t own;
    ctn_words_t left;
    ctn_words_t right;
} teardown_t;

/** Return whether no operation of the group is under way, detached ones
 * included. */
static bool is_quiet(const catena_group_t *group)
{
    bool quiet = ctn_sequence_under_way(&group->sequence) == 0 &&
                 ctn_sequence_under_way(&group->chain.sequence) == 0;
    for (const ctn_attachment_t *attachment = group->attachments;
         quiet && attachment != NULL; attachment = attachment->next) {
        quiet = attachment->quiet == NULL || attachment->quiet(attachment);
    }
    return quiet;
}

/** Whether the teardown may run: the group is linked, no operation is under
 * way, and all of its persistent requests, which still access it, are freed. */
static bool ready(const ctn_op_t *op)
{
    const teardown_t *teardown = (const void *)op->memory;
    const catena_group_t *group = teardown->group;
    ctn_attachment_t *found = ctn_group_find(group, &duplicates_key);
    return group->sequence.flight > 0 && is_quiet(group) &&
           (teardown->keep || found == NULL ||
            duplicates_in(found)->users.count == 0);
}

/** Flush words that no operation waits for. Stores on the node are always
 * flushed: that costs nothing where processors keep them in order. The network
 * is flushed only if such words were sent. */
static ctn_step_t flush(ctn_op_t *op)
{
    const teardown_t *teardown = ctn_op_state(op);
    if (teardown->group->recovery != NULL) {
        teardown->group->recovery->freed = true;
    }
    ctn_transport_t *local = op->exec->local;
    ctn_transport_t *network = op->exec->network;
    bool words = teardown->flush_words || op->exec->needs_flush;
    catena_status_t status = CATENA_OK;
    (void)ctn_flush(local, &op->pending);
    if (words && network != local) {
        status = ctn_flush(network, &op->pending);
    }
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

static ctn_step_t await_flush(ctn_op_t *op)
{
    return op->pending == 0 ? CTN_STEP_NEXT : CTN_STEP_WAIT;
}

static void release_group(ctn_op_t *op)
{
    teardown_t *teardown = ctn_op_state(op);
    /* With `keep` a second scan may follow. Other members may have begun it, so
     * its slots must not be zeroed. */
    if (!teardown->keep) {
        /* After a failure other members may still put into the block. */
        teardown->group->stays |= op->status != CATENA_OK;
        ctn_sequence_clear(op->exec, &teardown->sequence);
        ctn_group_release(teardown->group);
    }
}

static const ctn_phase_t teardown_phases[] = {
    {"flush", flush},
    {"deliver", await_flush},
    {"begin", ctn_scan_begin},
    {"rounds", ctn_double_scan_rounds},
    {NULL, NULL}};

static const ctn_algorithm_t teardown_algorithm = {
    .name = "teardown",
    .state_bytes = sizeof(teardown_t),
    .phases = teardown_phases,
    .synchronizing = true,
    .release = release_group,
    .ready = ready,
};

/** Create a teardown scan. NULL: no memory.
 * @param scan  its number in the teardown sequence
 * @param value summed over all members */
static ctn_op_t *create_teardown(catena_group_t *group, unsigned scan,
                                 uint64_t value)
{
    ctn_slot_t *slots = ctn_group_block(group)->teardown[0];
    ctn_op_t *op = ctn_op_create(group->exec, &teardown_algorithm, NULL);
    if (op == NULL) {
        return NULL;
    }
    teardown_t *teardown = ctn_op_state(op);
    ctn_sequence_t *sequence = &teardown->sequence;
    ctn_sequence_set(sequence, slots, CTN_TEARDOWN_GENERATIONS, 1);
    sequence->base = offsetof(ctn_control_block_t, teardown);
    sequence->brittle = true;
    sequence->failure = group->sequence.failure;
    sequence->complete += scan;
    sequence->started += scan;
    teardown->group = group;
    teardown->own.word[0] = value;
    ctn_scan_init(&teardown->scan, &group->chain.place, ctn_fold_sum,
                  &teardown->own, &teardown->left, &teardown->right,
                  sizeof(ctn_words_t));
    op->sequence = sequence;
    return op;
}

catena_status_t ctn_group_refuse_busy(const catena_group_t *group,
                                      uint64_t operations, const char *kind,
                                      const char *function)
{
    bool one = operations == 1;
    return ctn_refuse(group->exec->log, CATENA_ERR_STATE, function,
                      "%llu operation%s of a %s of %u ranks %s under way; "
                      "complete %s first, as catena_request_wait does",
                      (unsigned long long)operations, one ? "" : "s", kind,
                      group->chain.place.size, one ? "is" : "are",
                      one ? "it" : "them");
}

bool ctn_group_is_busy(const catena_group_t *group, const char *function)
{
    uint64_t under_way =
        ctn_sequence_under_way(&group->sequence) + group->composed;
    if (under_way == group->sequence.detached) {
        return false;
    }
    (void)ctn_group_refuse_busy(group, under_way - group->sequence.detached,
                                "group", function);
    return true;
}

bool ctn_groups_are_busy(const ctn_exec_t *exec, const char *function)
{
    const catena_group_t *group = ctn_groups_newest(exec);
    while (group != NULL &&
           (group->hidden || !ctn_group_is_busy(group, function))) {
        group = group->next;
    }
    return group != NULL;
}

catena_status_t ctn_group_free(catena_group_t *group, const char *function,
                               bool flush_words)
{
    if (ctn_group_is_busy(group, function)) {
        return CATENA_ERR_STATE;
    }
    ctn_op_t *op = create_teardown(group, 0, 0);
    ctn_exec_t *exec = group->exec;
    if (op == NULL) {
        return ctn_group_give_up(group, CATENA_ERR_NO_MEMORY);
    }
    ((teardown_t *)ctn_op_state(op))->flush_words = flush_words;
    ctn_groups_remove(group);
    ctn_op_start_background(op, true);
    return exec->status;
}

catena_status_t ctn_group_teardown_sum(catena_group_t *group, unsigned scan,
                                       uint64_t *sum)
{
    ctn_exec_t *exec = group->exec;
    ctn_op_t *op = create_teardown(group, scan, *sum);
    if (op == NULL) {
        return ctn_group_give_up(group, CATENA_ERR_NO_MEMORY);
    }
    teardown_t *teardown = ctn_op_state(op);
    teardown->keep = true;
    ctn_op_start_background(op, false);
    ctn_backoff_t backoff = {0};
    while (op->state != CTN_OP_DONE) {
        ctn_exec_poll_or_idle(exec, &backoff);
    }
    catena_status_t status = op->status;
    *sum = teardown->own.word[0] + teardown->left.word[0] +
           teardown->right.word[0];
    ctn_op_release(op);
    return status;
}

bool ctn_groups_left(const ctn_exec_t *exec)
{
    const catena_group_t *group = ctn_groups_newest(exec);
    while (group != NULL && group->permanent) {
        group = group->next;
    }
    return group != NULL;
}

size_t ctn_groups_release(ctn_exec_t *exec)
{
    size_t count = 0;
    exec->background_next = NULL;
    while (exec->background != NULL) {
        ctn_op_t *op = exec->background;
        exec->background = op->next;
        op->state = CTN_OP_DONE;
        ctn_op_release(op);
    }
    catena_group_t *newest; /* a duplicate is newer than its group */
    while ((newest = ctn_groups_newest(exec)) != NULL) {
        count += !newest->hidden;
        ctn_group_release(newest);
    }
    return count;
}

catena_status_t catena_group_free(catena_group_t **group)
{
    CTN_ENTRY;
    if (group == NULL) {
        return CTN_REFUSE_NULL(NULL, group);
    }
    if (*group == NULL) {
        return CATENA_OK;
    }
    if (!CTN_MARK_IS(*group, CTN_GROUP)) {
        return ctn_refuse_handle(__func__, "group", *group);
    }
    if ((*group)->permanent) {
        return ctn_refuse((*group)->exec->log, CATENA_ERR_ARG, __func__,
                          "found catena_world or catena_self; expected another "
                          "group; catena_finalize frees these");
    }
    if (ctn_group_is_busy(*group, __func__)) {
        return CATENA_ERR_STATE;
    }
    if (ctn_group_checks(*group)) {
        static const ctn_signature_t call = {.root = -1,
                                             .code = CTN_CODE_GROUP_FREE};
        ctn_check_start(*group, &call, NULL, NULL);
    }
    /* Before: the memory may be free, and used again, when this returns. */
    CTN_MARK_SET(*group, CTN_FREED);
    catena_status_t status = ctn_group_free(*group, __func__, false);
    if (status == CATENA_ERR_STATE) {
        CTN_MARK_SET(*group, CTN_GROUP);
    } else {
        *group = NULL;
    }
    return status;
}
