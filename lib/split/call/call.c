/* Splits as operations of a group: the entry points, and the phases around the
 * algorithms of split/algorithms.h. */

#include "split/call/call.h"
#include "coll/barrier.h"
#include "core/entry.h"
#include "group/recovery.h"

#include <string.h>

#include "coll/ml/ml.h"
#include "core/hash.h"
#include "core/refuse.h"
#include "core/sized.h"
#include "topo/locality.h"

_Static_assert(sizeof(ctn_split_call_t) <= CTN_OP_STATE_BYTES,
               "fits an operation");

/** Return whether this member has no color: it joins no group. */
static bool undefined(const ctn_split_call_t *split)
{
    return (split->by.flags & CATENA_SPLIT_UNDEFINED) != 0;
}

/* ---- phases ---- */

/** The algorithms run on the chain of the group, which only the oldest
 * operation of the group uses. */
static ctn_step_t wait_until_oldest(ctn_op_t *op)
{
    return ctn_op_is_oldest(op) ? CTN_STEP_NEXT : CTN_STEP_WAIT;
}

static catena_status_t fill_record(ctn_exec_t *exec, ctn_split_call_t *split)
{
    const catena_split_t *by = &split->by;
    size_t color_bytes = undefined(split) ? 0 : by->color_bytes;
    ctn_record_t head = {
        .rank = split->parent->chain.place.rank,
        .process = (uint32_t)split->parent->exec->locality->process,
        .offset = split->made->chain.place.self.offset,
        .color_bytes = undefined(split) ? CTN_NO_COLOR : (uint32_t)color_bytes,
        .key_bytes = (uint32_t)by->key_bytes,
    };
    size_t bytes = ctn_record_bytes(&head);
    split->record = (void *)split->inline_record;
    if (bytes > sizeof(split->inline_record)) {
        split->record = ctn_scratch_alloc(exec, bytes);
        split->record_bytes = bytes;
        if (split->record == NULL) {
            return CATENA_ERR_NO_MEMORY;
        }
    }
    ctn_record_fill(split->record, &head, by->color, by->key);
    return CATENA_OK;
}

static ctn_step_t prepare(ctn_op_t *op)
{
    ctn_split_call_t *split = ctn_op_state(op);
    catena_group_t *parent = split->parent;
    split->before = op->exec->tally;
    op->exec->tally.most_memory = op->exec->tally.memory;
    catena_status_t status = CATENA_OK;
    if (split->hidden != NULL) {
        split->made = &split->hidden->group;
    } else {
        status =
            ctn_group_create(op->exec, parent->chain.place.size, &split->made);
    }
    if (status == CATENA_OK) {
        ctn_barrier_set_hooks(split->made);
        if (split->hidden == NULL) {
            ctn_group_record(split->made, split->id);
        }
        status = fill_record(op->exec, split);
    }
    if (status != CATENA_OK) {
        return ctn_op_fail(op, status);
    }
    if (split->choice.name == NULL) {
        ctn_split_choose(parent, &split->by, &split->choice);
    }
    return CTN_STEP_NEXT;
}

static ctn_step_t run(ctn_op_t *op)
{
    ctn_split_call_t *split = ctn_op_state(op);
    split->args = (ctn_split_args_t){
        .parent = &split->parent->chain,
        .chain = &split->made->chain,
        .by = {.exec = op->exec,
               .color = split->by.color_compare,
               .key = split->by.key_compare,
               .argument = split->by.argument},
        .record = split->record,
        .reorder = (split->by.flags & CATENA_SPLIT_NO_REORDER) == 0,
        .most = split->choice.most,
        .every_bit = split->choice.every_bit,
    };
    split->known = true;
    return split->choice.make != NULL
               ? ctn_op_call(op, split->choice.make(&split->args))
               : ctn_split_fast(op);
}

ctn_step_t ctn_split_drop_undefined(ctn_op_t *op)
{
    ctn_split_call_t *split = ctn_op_state(op);
    if (!undefined(split)) {
        return CTN_STEP_NEXT;
    }
    return ctn_op_call(op,
                       ctn_scan_create(op->exec, &split->made->chain,
                                       ctn_fold_sum, &split->own, &split->left,
                                       &split->right, sizeof(ctn_words_t)));
}

/** Give the new group to the caller. Called when nothing can fail any more. */
static void hand_over(ctn_op_t *op)
{
    ctn_split_call_t *split = ctn_op_state(op);
    ctn_split_remember(split->parent, &split->choice, &split->before);
    *split->out = undefined(split) ? NULL : split->made;
    if (!undefined(split)) {
        split->made = NULL;
    }
}

/** Let operations of the hidden duplicate begin. If the split has failed, the
 * request exists already and can no longer fail alone. */
static void finish_hidden(ctn_op_t *op)
{
    ctn_split_call_t *split = ctn_op_state(op);
    if (op->status != CATENA_OK) {
        (void)ctn_op_give_up(op, op->status);
    }
    split->made = NULL;
    ctn_sequence_open(&split->hidden->group.sequence, CTN_FLIGHT);
}

void ctn_split_log_inconsistent(const catena_group_t *group)
{
    ctn_error(ctn_group_log_once(group),
              "split: the order of colors or keys is not the same on all ranks "
              "or has a cycle; pass the same comparators, of a total order");
}

void ctn_split_finish(ctn_op_t *op)
{
    ctn_split_call_t *split = ctn_op_state(op);
    if (op->status == CATENA_ERR_ARG && split->choice.make != NULL) {
        ctn_split_log_inconsistent(split->parent); /* else logged */
    }
    if (split->hidden != NULL) {
        finish_hidden(op);
    } else if (op->status == CATENA_OK) {
        hand_over(op);
    } else if (op->status == CATENA_ERR_NO_MEMORY) {
        /* other members wait for this one */
        (void)ctn_op_give_up(op, op->status);
    }
    ctn_scratch_free(op->exec, split->record_bytes > 0 ? split->record : NULL,
                     split->record_bytes);
    if (split->made == NULL) {
        return;
    }
    if (split->known && op->status != CATENA_OK &&
        op->status != CATENA_ERR_ARG) {
        /* Members that have not failed may still put into the new control
         * block, which is kept until the heap is destroyed. */
        split->made->stays = true;
        ctn_recovery_give_up(split->made);
    }
    ctn_group_release(split->made);
}

ctn_step_t ctn_split_gather_members(ctn_op_t *op)
{
    const ctn_split_call_t *split = ctn_op_state(op);
    return undefined(split) || split->hidden != NULL
               ? CTN_STEP_NEXT
               : ctn_recovery_gather(op, split->made);
}

static const ctn_phase_t phases[] = {
    {"wait", wait_until_oldest},
    {"prepare", prepare},
    {"split", run},
    {"drop undefined", ctn_split_drop_undefined},
    {"gather members", ctn_split_gather_members},
    {NULL, NULL}};

static const ctn_algorithm_t split_algorithm = {
    .name = "split",
    .state_bytes = offsetof(ctn_split_call_t, inline_record),
    .phases = phases,
    .synchronizing = true,
    .finish = ctn_split_finish,
};

/* ---- arguments ---- */

/** Drop arguments that are not significant, so that they are not sent. */
static void drop_insignificant(catena_split_t *by)
{
    if ((by->flags & CATENA_SPLIT_NO_SPLIT) != 0) {
        by->color_bytes = 0;
        by->color_compare = NULL;
    }
    if ((by->flags & CATENA_SPLIT_NO_REORDER) != 0) {
        by->key_bytes = 0;
        by->key_compare = NULL;
    }
    if ((by->flags & CATENA_SPLIT_UNDEFINED) != 0) {
        by->key_bytes = 0; /* in no group, hence in no order */
    }
}

static catena_status_t check(const char *function, const ctn_log_t *log,
                             const catena_split_t *by)
{
    const unsigned known = CATENA_SPLIT_UNDEFINED | CATENA_SPLIT_NO_SPLIT |
                           CATENA_SPLIT_NO_REORDER;
    if ((by->flags & ~known) != 0) {
        return ctn_refuse(log, CATENA_ERR_ARG, function,
                          "flags are 0x%x; expected CATENA_SPLIT_...",
                          by->flags);
    }
    if ((by->color == NULL && by->color_bytes > 0) ||
        (by->key == NULL && by->key_bytes > 0)) {
        return ctn_refuse(log, CATENA_ERR_ARG, function,
                          "color or key is NULL but its length is not 0");
    }
    if (by->color_bytes >= CTN_NO_COLOR / 2 ||
        by->key_bytes >= CTN_NO_COLOR / 2) {
        return ctn_refuse(
            log, CATENA_ERR_ARG, function,
            "color has %zu bytes, key %zu; expected less than 2 GiB",
            by->color_bytes, by->key_bytes);
    }
    return CATENA_OK;
}

/** Read the significant arguments from the caller's struct, which may be of
 * another version of the library.
 * @param[out] by zero, except for its size, if the struct cannot be read */
static catena_status_t
read_arguments(const char *function, const ctn_log_t *log,
               const catena_split_t *split, catena_group_t *const *out,
               catena_split_t *by, ctn_split_choice_t *choice)
{
    static const ctn_sized_t sized = CTN_SIZED(catena_split_t, algorithm);
    catena_status_t status =
        split != NULL ? ctn_sized_read(function, log, &sized, split, by)
                      : ctn_refuse_null(log, function, "split");
    if (status == CATENA_OK && out == NULL) {
        status = ctn_refuse_null(log, function, "out");
    }
    drop_insignificant(by);
    if (status == CATENA_OK) {
        status = check(function, log, by);
    }
    return status == CATENA_OK ? ctn_split_named(function, log, by, choice)
                               : status;
}

/** Create the operation of a split, inactive. NULL: no memory. */
static ctn_op_t *create(catena_group_t *group, const catena_split_t *by,
                        const ctn_split_choice_t *choice)
{
    ctn_op_t *op =
        ctn_op_create(group->exec, &split_algorithm, &group->sequence);
    if (op != NULL) {
        ctn_split_call_t *split = ctn_op_state(op);
        split->parent = group;
        split->by = *by;
        split->choice = *choice;
        split->id = by->color_compare == NULL ||
                            by->color_compare == catena_compare_int64
                        ? ctn_group_next_id(group, by->color, by->color_bytes)
                        : CTN_SCOPE_UNKNOWN;
    }
    return op;
}

/** With CATENA_CHECK=on: sign a split, and compare it with what the other ranks
 * call. These learn of invalid arguments, too. A valid split that does not
 * block is compared when it starts.
 * @param status of the arguments
 * @return why the call fails; or OK */
static catena_status_t compare(ctn_call_code_t code, catena_group_t *group,
                               const catena_split_t *by,
                               const ctn_split_choice_t *choice,
                               catena_status_t status, bool blocks,
                               ctn_signature_t *signature)
{
    *signature = (ctn_signature_t){.root = -1, .code = (uint8_t)code};
    if (status == CATENA_OK) {
        signature->flags = by->flags & ~(unsigned)CATENA_SPLIT_UNDEFINED;
        if (choice->name != NULL) { /* the rules do not select it */
            signature->bytes = ctn_hash_add_text(choice->most, choice->name);
            signature->form = CTN_SIGNED_HASH;
        }
    } else {
        signature->form = CTN_SIGNED_REFUSED;
    }
    if (blocks) {
        catena_status_t found = ctn_check_call(group, signature);
        return status == CATENA_OK ? found : status;
    }
    if (status != CATENA_OK) {
        ctn_check_start(group, signature, NULL, NULL);
    }
    return status;
}

/** Split a group. If the arguments are invalid, and this rank can report it to
 * the other ranks, it takes part and the split fails on all ranks.
 * @param code     the call that all ranks make
 * @param function the public function, for messages
 * @param split  NULL: only with `status`
 * @param status not CATENA_OK: the arguments are already known to be invalid,
 *               and the reason is logged
 * @param[out] request NULL: run to completion. Otherwise a rank with invalid
 * arguments gets the error immediately. It reports it by a detached operation,
 * so the other ranks get it when this rank has made progress. */
static catena_status_t start(ctn_call_code_t code, const char *function,
                             catena_group_t *group, const catena_split_t *split,
                             catena_status_t status, catena_group_t **out,
                             catena_request_t **request)
{
    catena_split_t by = {.size = sizeof(by)};
    ctn_split_choice_t choice;
    if (CTN_UNUSABLE(group, CTN_GROUP)) {
        return ctn_refuse_handle(function, "group", group);
    }
    const ctn_log_t *log = group->exec->log;
    if (status == CATENA_OK || split != NULL) {
        catena_status_t found =
            read_arguments(function, log, split, out, &by, &choice);
        status = status == CATENA_OK ? found : status;
    }
    if (status != CATENA_OK) {
        if (!ctn_group_checks(group) &&
            (group->exec->drop_tables ||
             !ctn_split_can_report(group, by.algorithm))) {
            return status;
        }
        by = (catena_split_t){.flags = CATENA_SPLIT_UNDEFINED,
                              .algorithm = "allgather-fast"};
        (void)ctn_split_named(function, log, &by, &choice);
    }
    ctn_recorded_call_t *call = ctn_call_enters(group, code, -1);
    ctn_signature_t signature;
    const ctn_signature_t *checked = NULL;
    if (ctn_group_checks(group)) {
        checked = &signature;
        status = compare(code, group, &by, &choice, status, request == NULL,
                         &signature);
        if (status != CATENA_OK) {
            ctn_call_returns(group->exec, call, CTN_RECORD_OVER, NULL);
            return status;
        }
    }
    ctn_op_t *op = create(group, &by, &choice);
    if (op == NULL) { /* fails on all ranks, wherever it happens */
        ctn_call_returns(group->exec, call, CTN_RECORD_OVER, NULL);
        return ctn_group_give_up(group, CATENA_ERR_NO_MEMORY);
    }
    ctn_split_call_t *state = ctn_op_state(op);
    state->out = out;
    state->wrong = status != CATENA_OK;
    if (request == NULL) {
        catena_status_t result = ctn_op_run(group->exec, op);
        bool goes_on = code != CTN_CODE_GROUP_SPLIT && result == CATENA_OK;
        ctn_call_returns(group->exec, call,
                         goes_on ? CTN_RECORD_INSIDE : CTN_RECORD_OVER, NULL);
        return result == CATENA_ERR_ARG && status != CATENA_OK ? status
                                                               : result;
    }
    ctn_call_returns(group->exec, call, CTN_RECORD_STARTED, op);
    if (status != CATENA_OK) {
        ctn_op_start_detached(op);
        return status;
    }
    ctn_call_start(group, checked, op, NULL);
    *request = op;
    return CATENA_OK;
}

/* ---- duplicates ---- */

/** Of a duplicate: all ranks, in their order. */
static const catena_split_t all = {.size = sizeof(all),
                                   .flags = CATENA_SPLIT_NO_SPLIT |
                                            CATENA_SPLIT_NO_REORDER};

/** Free a hidden duplicate with the request that owns it. */
static void dispose(void *hidden)
{
    ctn_ml_keep_explanation(hidden);
    (void)ctn_group_free(hidden, "catena_request_free", false);
}

catena_status_t ctn_hidden_make(catena_group_t *group,
                                const ctn_signature_t *signature,
                                ctn_hidden_t **out)
{
    static const ctn_split_choice_t by_rules = {.name = NULL};
    catena_status_t status = ctn_group_explain_status(group);
    if (status != CATENA_OK) {
        return status;
    }
    ctn_op_t *op = create(group, &all, &by_rules);
    if (op == NULL || ctn_hidden_create(group, out) != CATENA_OK) {
        if (op != NULL) {
            ctn_op_release(op);
        }
        return ctn_group_give_up(group, CATENA_ERR_NO_MEMORY);
    }
    ctn_split_call_t *split = ctn_op_state(op);
    split->hidden = *out;
    ctn_barrier_set_hooks(&(*out)->group);
    ctn_call_start_detached(group, signature, op);
    return CATENA_OK;
}

void ctn_hidden_own(ctn_op_t *op, ctn_hidden_t *hidden)
{
    op->owned = &hidden->group;
    op->dispose = dispose;
}

catena_status_t ctn_group_dup_for(ctn_call_code_t code, const char *function,
                                  catena_group_t *group, catena_group_t **out)
{
    return start(code, function, group, &all, CATENA_OK, out, NULL);
}

catena_status_t catena_group_dup(catena_group_t *group, catena_group_t **out)
{
    CTN_ENTRY;
    return ctn_group_dup_for(CTN_CODE_GROUP_SPLIT, __func__, group, out);
}

/* ---- public ---- */

catena_status_t catena_group_split_by(catena_group_t *group,
                                      const catena_split_t *split,
                                      catena_group_t **out)
{
    CTN_ENTRY;
    return start(CTN_CODE_GROUP_SPLIT, __func__, group, split, CATENA_OK, out,
                 NULL);
}

catena_status_t catena_group_isplit_by(catena_group_t *group,
                                       const catena_split_t *split,
                                       catena_group_t **out,
                                       catena_request_t **request)
{
    CTN_ENTRY;
    catena_request_t *made = NULL;
    catena_status_t status = CATENA_OK;
    if (!CTN_UNUSABLE(group, CTN_GROUP) && request == NULL) {
        status = CTN_REFUSE_NULL(group->exec->log, request);
    }
    status =
        start(CTN_CODE_GROUP_SPLIT, __func__, group, split, status, out, &made);
    if (status == CATENA_OK) {
        *request = made;
    }
    return status;
}

/** Split by integers. The parameters are those of `start`. */
static catena_status_t split_int64(ctn_call_code_t code, const char *function,
                                   catena_group_t *group, int64_t color,
                                   int64_t key, unsigned flags,
                                   catena_status_t status, catena_group_t **out)
{
    catena_split_t split = {.size = sizeof(split),
                            .color = &color,
                            .color_bytes = sizeof(color),
                            .color_compare = catena_compare_int64,
                            .key = &key,
                            .key_bytes = sizeof(key),
                            .key_compare = catena_compare_int64,
                            .flags = flags};
    return start(code, function, group, &split, status, out, NULL);
}

catena_status_t ctn_group_split_for(ctn_call_code_t code, const char *function,
                                    catena_group_t *group, int64_t color,
                                    int64_t key, catena_group_t **out)
{
    return split_int64(code, function, group, color, key, 0, CATENA_OK, out);
}

catena_status_t catena_group_split_int64(catena_group_t *group, int64_t color,
                                         int64_t key, catena_group_t **out)
{
    CTN_ENTRY;
    return split_int64(CTN_CODE_GROUP_SPLIT, __func__, group, color, key, 0,
                       CATENA_OK, out);
}

catena_status_t catena_group_split(catena_group_t *group, int color, int key,
                                   catena_group_t **out)
{
    CTN_ENTRY;
    catena_status_t status = CATENA_OK;
    if (group != NULL && color < 0 && color != CATENA_UNDEFINED) {
        status = ctn_refuse(group->exec->log, CATENA_ERR_ARG, __func__,
                            "the color is %d; expected 0 or more, or "
                            "CATENA_UNDEFINED",
                            color);
    }
    return split_int64(CTN_CODE_GROUP_SPLIT, __func__, group, color, key,
                       color == CATENA_UNDEFINED ? CATENA_SPLIT_UNDEFINED : 0,
                       status, out);
}

/** Split by strings. The parameters are those of `start`. */
static catena_status_t split_string(const char *function, catena_group_t *group,
                                    const char *color, int key,
                                    catena_group_t **out)
{
    int64_t wide_key = key;
    catena_split_t split = {.size = sizeof(split),
                            .color = color,
                            .color_bytes = color != NULL ? strlen(color) : 0,
                            .key = &wide_key,
                            .key_bytes = sizeof(wide_key),
                            .key_compare = catena_compare_int64,
                            .flags =
                                color == NULL ? CATENA_SPLIT_UNDEFINED : 0};
    return start(CTN_CODE_GROUP_SPLIT, function, group, &split, CATENA_OK, out,
                 NULL);
}

catena_status_t catena_group_split_string(catena_group_t *group,
                                          const char *color, int key,
                                          catena_group_t **out)
{
    CTN_ENTRY;
    return split_string(__func__, group, color, key, out);
}

catena_status_t catena_group_split_level(catena_group_t *group,
                                         catena_level_t level, int key,
                                         catena_group_t **out)
{
    CTN_ENTRY;
    char name[CTN_RESOURCE_BYTES];
    if (CTN_UNUSABLE(group, CTN_GROUP)) {
        return CTN_REFUSE_NULL(NULL, group);
    }
    catena_status_t status = ctn_locality_resource(
        group->exec->log, ctn_topo_config(group->exec->config)->topology,
        group->exec->locality, level, name);
    return status == CATENA_OK ? split_string(__func__, group, name, key, out)
                               : start(CTN_CODE_GROUP_SPLIT, __func__, group,
                                       NULL, status, out, NULL);
}
