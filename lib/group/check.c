/* CATENA_CHECK=on: comparison of calls; see check.h. */

#include "group/check.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/hash.h"
#include "core/refuse.h"
#include "group/recovery.h"
#include "group/scan.h"
#include "type/op.h"

enum { CALL_BYTES = 160, SETTINGS = 32 };

/** A setting of the group. */
typedef struct setting {
    uint64_t name; /* a hash; 0: none */
    uint32_t hash; /* of name and value; 0: the default */
} setting_t;

/** The checks of a group; attached to it by the first one. */
typedef struct check {
    ctn_attachment_t attachment; /* first */
    catena_group_t *group;
    ctn_sequence_t sequence;     /* of the checks alone, one at a time */
    setting_t setting[SETTINGS]; /* set since the group exists */
} check_t;

/** What members that are adjacent in the chain call. */
typedef struct called {
    ctn_signature_t first; /* of the first of these members */
    ctn_signature_t other; /* of the first one that calls something else */
} called_t;

_Static_assert(sizeof(called_t) <= CTN_SCAN_BYTES, "a message fits a slot");

/** State of a check. */
typedef struct check_call {
    ctn_scan_t scan; /* first: its phases are used here */
    catena_group_t *group;
    ctn_op_t *op; /* is started if the members agree, or NULL */
    bool (*begin)(ctn_op_t *op);
    called_t own, left, right;
} check_call_t;

/* ---- comparison ---- */

static bool differ(const ctn_signature_t *a, const ctn_signature_t *b)
{
    return a->bytes != b->bytes || a->root != b->root || a->flags != b->flags ||
           a->code != b->code || a->form != b->form || a->op != b->op ||
           a->type != b->type || a->settings != b->settings;
}

/** Combine the values of two adjacent parts of the chain. */
static void fold(void *inout, const void *in, int in_is_left)
{
    const called_t left =
        in_is_left ? *(const called_t *)in : *(called_t *)inout;
    const called_t right =
        in_is_left ? *(called_t *)inout : *(const called_t *)in;
    called_t both = left.first.member != 0 ? left : right;
    if (left.first.member != 0 && left.other.member == 0 &&
        right.first.member != 0) {
        both.other =
            differ(&left.first, &right.first) ? right.first : right.other;
    }
    *(called_t *)inout = both;
}

/* ---- report ---- */

/** Append to a text, as far as it has room. */
__attribute__((format(printf, 2, 3))) static void
append(char text[CALL_BYTES], const char *format, ...)
{
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text + used, CALL_BYTES - used, format, arguments);
    va_end(arguments);
}

static const char *describe(const ctn_signature_t *call, char text[CALL_BYTES])
{
    bool persistent = (call->form & CTN_SIGNED_PERSISTENT) != 0;
    snprintf(text, CALL_BYTES, "rank %u: %s%s", call->member - 1,
             ctn_call_name(call->code), persistent ? "_init" : "");
    if ((call->form & CTN_SIGNED_REFUSED) != 0) {
        append(text, " with arguments that this rank refused");
        return text;
    }
    if ((call->form & CTN_SIGNED_HASH) != 0) {
        append(text, " with %s of hash %llx",
               call->code >= CTN_CODE_BARRIER ? "lengths" : "an algorithm",
               (unsigned long long)call->bytes);
    } else if (call->bytes != 0) {
        append(text, " of %llu bytes", (unsigned long long)call->bytes);
    }
    if (call->root >= 0) {
        append(text, ", root %d", call->root);
    }
    if (call->op != 0) {
        char by[64];
        append(text, ", %s",
               ctn_reducer_describe(call->op, call->type, by, sizeof(by)));
    }
    if (call->flags != 0) {
        append(text, ", flags %#x", call->flags);
    }
    if (call->settings != 0) {
        append(text, ", settings of hash %x", call->settings);
    }
    return text;
}

static void report(const catena_group_t *group, const called_t *all)
{
    char first[CALL_BYTES];
    char other[CALL_BYTES];
    ctn_signature_t same = all->other;
    same.settings = all->first.settings;
    bool in_settings = !differ(&all->first, &same);
    (void)ctn_refuse(
        ctn_group_log_once(group), CATENA_ERR_ARG, "CATENA_CHECK",
        "the %s of the ranks of a group do not match: %s; %s; expected the "
        "same %s on all ranks",
        in_settings ? "settings (catena_group_set)" : "calls",
        describe(&all->first, first), describe(&all->other, other),
        in_settings ? "settings" : "call");
}

/* ---- the operation ---- */

/** Whether the call has already returned to its caller. */
static bool has_returned(const ctn_signature_t *call)
{
    return call->code == CTN_CODE_GROUP_FREE ||
           (call->form & CTN_SIGNED_PERSISTENT) != 0;
}

static void compare(ctn_op_t *op)
{
    check_call_t *it = ctn_op_state(op);
    if (op->status != CATENA_OK) {
        return;
    }
    fold(&it->left, &it->own, 0);
    fold(&it->left, &it->right, 0);
    if (it->left.other.member != 0) {
        report(it->group, &it->left);
        op->status = has_returned(&it->own.first)
                         ? ctn_op_give_up(op, CATENA_ERR_ARG)
                         : CATENA_ERR_ARG;
    }
}

static const ctn_phase_t phases[] = {{"begin", ctn_scan_begin},
                                     {"compare calls", ctn_double_scan_rounds},
                                     {NULL, NULL}};

static const ctn_algorithm_t algorithm = {
    .name = "CATENA_CHECK",
    .state_bytes = sizeof(check_call_t),
    .phases = phases,
    .synchronizing = true,
    .finish = compare,
};

/** The settings that a call compares. They do not matter to one that is no
 * collective, nor to one that has returned. */
static uint32_t settings_of(const check_t *check, const ctn_signature_t *call)
{
    uint32_t sum = 0;
    if (call->code >= CTN_CODE_BARRIER && !has_returned(call)) {
        for (size_t i = 0; i < SETTINGS; i++) {
            sum += check->setting[i].hash;
        }
    }
    return sum;
}

/** @param signature NULL: an epoch barrier, which compares nothing */
static ctn_op_t *create(check_t *check, const ctn_signature_t *signature)
{
    catena_group_t *group = check->group;
    ctn_op_t *op = ctn_op_create(group->exec, &algorithm, &check->sequence);
    if (op != NULL) {
        check_call_t *it = ctn_op_state(op);
        it->group = group;
        if (signature != NULL) {
            it->own.first = *signature;
            it->own.first.member = group->chain.place.rank + 1;
            it->own.first.settings = settings_of(check, signature);
        }
        ctn_scan_init(&it->scan, &group->chain.place, fold, &it->own, &it->left,
                      &it->right, sizeof(called_t));
        it->scan.double_scan.of_group = true;
    }
    return op;
}

/* ---- the checks of a group ---- */

static const char key;

static check_t *check_in(ctn_sequence_t *sequence)
{
    return (check_t *)(void *)((unsigned char *)sequence -
                               offsetof(check_t, sequence));
}

static ctn_op_t *make_barrier(ctn_exec_t *exec, ctn_sequence_t *sequence)
{
    (void)exec;
    return create(check_in(sequence), NULL);
}

static const ctn_sequence_hooks_t hooks = {.make_barrier = make_barrier};

static bool is_quiet(const ctn_attachment_t *attachment)
{
    return ctn_sequence_under_way(&((const check_t *)attachment)->sequence) ==
           0;
}

static void release(ctn_exec_t *exec, ctn_attachment_t *attachment)
{
    check_t *check = (check_t *)attachment;
    ctn_sequence_clear(exec, &check->sequence);
    free(check);
}

/** NULL: no memory. */
static check_t *check_of(catena_group_t *group)
{
    check_t *check = (check_t *)ctn_group_find(group, &key);
    if (check == NULL && (check = calloc(1, sizeof(*check))) != NULL) {
        check->attachment = (ctn_attachment_t){
            .key = &key, .quiet = is_quiet, .release = release};
        check->group = group;
        ctn_sequence_init(&check->sequence, ctn_group_block(group),
                          offsetof(ctn_control_block_t, check), 1);
        check->sequence.sparse_pages =
            (uint8_t)((ctn_chain_slots_bytes(group->chain.place.size, 2) +
                       4095) /
                      4096);
        check->sequence.brittle = true;
        check->sequence.failure = group->sequence.failure;
        check->sequence.hooks = &hooks;
        ctn_group_attach(group, &check->attachment);
    }
    return check;
}

/** Create the operation of a check. NULL: no memory. */
static ctn_op_t *create_check(catena_group_t *group,
                              const ctn_signature_t *signature)
{
    check_t *check = check_of(group);
    return check != NULL ? create(check, signature) : NULL;
}

catena_status_t ctn_check_call(catena_group_t *group,
                               const ctn_signature_t *signature)
{
    return ctn_group_result(
        group, ctn_group_run(group, create_check(group, signature)));
}

catena_status_t ctn_check_recovery_call(catena_group_t *group,
                                        ctn_call_code_t code, bool refused)
{
    const ctn_signature_t call = {.root = -1,
                                  .code = (uint8_t)code,
                                  .form = refused ? CTN_SIGNED_REFUSED : 0};
    const ctn_recovery_t *recovery = group->recovery;
    if (!ctn_group_checks(group) || recovery == NULL || recovery->size == 0 ||
        ctn_group_status(group) != CATENA_OK) {
        return CATENA_OK;
    }
    if (refused) {
        ctn_check_start(group, &call, NULL, NULL);
        return CATENA_OK;
    }
    catena_status_t status = ctn_check_call(group, &call);
    return status == CATENA_ERR_ARG ? status : group->exec->status;
}

/** Start an operation whose check has succeeded; end it if the check has
 * failed. A detached operation is always started: others wait for its `finish`,
 * and where its check fails the context has ended, or the group has failed, and
 * so does the operation. */
static void go_on(ctn_op_t *op, catena_status_t status,
                  bool (*begin)(ctn_op_t *op))
{
    op->state = CTN_OP_INACTIVE;
    if (op->detached) {
        ctn_op_start_detached(op);
    } else if (status != CATENA_OK) {
        op->status = status;
        op->state = CTN_OP_DONE;
        if (op->recorded != 0) {
            ctn_recorder_op_ended(op);
        }
    } else if (begin == NULL || !begin(op)) {
        ctn_op_start(op);
    }
}

static void check_ended(ctn_op_t *checked)
{
    const check_call_t *it = ctn_op_state(checked);
    if (it->op != NULL) {
        it->group->composed -= !it->op->detached;
        go_on(it->op, checked->status, it->begin);
    }
}

void ctn_check_start(catena_group_t *group, const ctn_signature_t *signature,
                     ctn_op_t *op, bool (*begin)(ctn_op_t *op))
{
    ctn_op_t *checked = create_check(group, signature);
    if (checked == NULL) {
        catena_status_t status = ctn_group_give_up(group, CATENA_ERR_NO_MEMORY);
        if (op != NULL) {
            go_on(op, status, begin);
        }
        return;
    }
    check_call_t *it = ctn_op_state(checked);
    it->op = op;
    it->begin = begin;
    if (op != NULL) {
        op->state = CTN_OP_QUEUED;
        group->composed += !op->detached;
    }
    checked->ended = check_ended;
    ctn_op_start_detached(checked);
}

void ctn_check_wait(catena_group_t *group)
{
    const check_t *check = (check_t *)ctn_group_find(group, &key);
    ctn_backoff_t backoff = {0};
    while (check != NULL && !is_quiet(&check->attachment) &&
           group->exec->status == CATENA_OK) {
        ctn_exec_poll_or_idle(group->exec, &backoff);
    }
}

catena_status_t ctn_check_set(catena_group_t *group, const char *name,
                              const char *value)
{
    check_t *check = check_of(group);
    if (check == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    uint64_t hash = ctn_hash_add_text(1, name);
    setting_t *setting = check->setting;
    while (setting->name != 0 && setting->name != hash) {
        setting++;
        assert(setting < check->setting + SETTINGS);
    }
    setting->name = hash;
    setting->hash =
        value != NULL ? (uint32_t)ctn_hash_add_text(hash, value) : 0;
    return CATENA_OK;
}
