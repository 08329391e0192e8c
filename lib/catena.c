/* Creation and destruction of a context. */

#include <catena/catena.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "boot/boot.h"
#include "context.h"
#include "core/entry.h"
#include "core/refuse.h"
#include "core/sized.h"
#include "exec/exec.h"
#include "exec/progress_thread.h"
#include "group/check.h"
#include "group/recovery.h"
#include "join.h"
#include "model/tuning.h"
#include "settings.h"
#include "simulated.h"
#include "statistics.h"

static const ctn_sized_t config_struct =
    CTN_SIZED(catena_config_t, log_argument);
static const ctn_sized_t oob_struct = CTN_SIZED(catena_oob_t, argument);

static catena_status_t init(const char *function, const catena_config_t *config,
                            catena_context_t **out)
{
    if (out == NULL) {
        return ctn_refuse_null(NULL, function, "context");
    }
    catena_config_t own = {.size = sizeof(own)};
    catena_status_t status =
        config != NULL
            ? ctn_sized_read(function, NULL, &config_struct, config, &own)
            : CATENA_OK;
    catena_oob_t oob = {.size = sizeof(oob)};
    if (status == CATENA_OK && own.oob != NULL) {
        status = ctn_sized_read(function, NULL, &oob_struct, own.oob, &oob);
    }
    if (status != CATENA_OK) {
        return status;
    }
    catena_context_t *context = calloc(1, sizeof(*context));
    if (context == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    CTN_MARK_SET(context, CTN_CONTEXT);
    context->log = (ctn_log_t){.level = CATENA_LOG_WARN,
                               .rank = -1,
                               .sink = own.log,
                               .argument = own.log_argument};
    context->sim = own.sim;
    if (own.sim != NULL) {
        context->log.last = ctn_simulated_last_message(context);
    }
    status = ctn_config_read(&context->config, ctn_settings, own.settings,
                             &context->log);
    if (status != CATENA_OK) {
        if (own.oob != NULL) {
            ctn_boot_decline(&oob);
        }
        CTN_MARK_SET(context, CTN_FREED);
        ctn_handle_free(context);
        return status;
    }
    context->log.level = ctn_job_config(&context->config)->log_level;
    context->oob = own.oob != NULL ? &oob : NULL;
    context->progress = own.sim == NULL ? own.progress : NULL;
    context->progress_argument = own.progress_argument;
    status = ctn_settings_check(&context->log, &context->config);
    if (status == CATENA_OK) {
        status = ctn_tuning_open(&context->log,
                                 ctn_model_config(&context->config)->tuning,
                                 &context->tuning);
    }
    if (status == CATENA_OK) {
        status = ctn_join(context);
    } else if (context->oob != NULL) {
        ctn_boot_decline(&oob);
    }
    context->oob = NULL;
    if (status != CATENA_OK) {
        ctn_leave(context);
        return status;
    }
    *out = context;
    return CATENA_OK;
}

catena_status_t catena_init(const catena_config_t *config,
                            catena_context_t **out)
{
    char before[CTN_LAST_ERROR_BYTES];
    snprintf(before, sizeof(before), "%s", catena_last_error());
    catena_status_t status = init(__func__, config, out);
    if (status == CATENA_ERR_NO_MEMORY &&
        strcmp(before, catena_last_error()) == 0) { /* no step has logged it */
        return ctn_refuse(NULL, status, __func__,
                          "no memory for this process; free memory, or raise "
                          "its limit");
    }
    return status;
}

/** Release the groups that the application has not freed, and with them their
 * neighborhoods. Warn of them, except after an abort, when freeing a group does
 * not release it. */
static void release_groups(const catena_context_t *context)
{
    size_t count = ctn_groups_release(context->exec);
    if (count > 0 && context->exec->status == CATENA_OK) {
        ctn_warn(&context->log,
                 "catena_finalize: %zu group%s not freed (each "
                 "neighborhood has one)",
                 count, count > 1 ? "s" : "");
    }
}

/** All ranks have called finalize. If all groups are freed, complete their
 * teardowns. Otherwise some teardowns never complete: all ranks stop theirs,
 * and run a second scan. After it no rank sends to a rank that has left.
 * @param left number of ranks that have groups or requests left */
static catena_status_t end_teardowns(const catena_context_t *context,
                                     uint64_t left)
{
    ctn_exec_t *exec = context->exec;
    ctn_backoff_t backoff = {0};
    while (left == 0 && exec->background != NULL) {
        ctn_exec_poll_or_idle(exec, &backoff);
    }
    if (left == 0 || exec->status != CATENA_OK) {
        return exec->status;
    }
    ctn_op_t *background = exec->background;
    exec->background = exec->background_next = NULL;
    catena_status_t status = ctn_group_teardown_sum(context->world, 1, &left);
    exec->background = background;
    exec->background_next = NULL;
    return status;
}

/** With CATENA_CHECK=on: whether all ranks call finalize. */
static catena_status_t compare_finalize(const catena_context_t *context)
{
    static const ctn_signature_t call = {.root = -1, .code = CTN_CODE_FINALIZE};
    return ctn_group_checks(context->world)
               ? ctn_check_call(context->world, &call)
               : CATENA_OK;
}

/** Free the context, which no rank accesses any more. */
static catena_status_t end_context(catena_context_t **handle,
                                   catena_status_t status)
{
    catena_context_t *context = *handle;
    ctn_progress_thread_stop(context->exec);
    ctn_exec_end_failed(context->exec);
    if (context->self != NULL) {
        ctn_group_release(context->self);
    }
    ctn_group_release(context->world);
    context->self = context->world = NULL;
    release_groups(context);
    ctn_leave(context);
    *handle = NULL;
    return status;
}

/** The end of a context where failures are returned. */
static catena_status_t leave_survivors(catena_context_t **handle)
{
    catena_context_t *context = *handle;
    ctn_exec_t *exec = context->exec;
    ctn_backoff_t backoff = {0};
    /* Hierarchies that no call waits for; they end, too, if the world fails. */
    while (ctn_sequence_under_way(&context->world->sequence) > 0 &&
           exec->status == CATENA_OK) {
        ctn_exec_poll_or_idle(exec, &backoff);
    }
    catena_status_t status = ctn_recovery_leave(context->world);
    context->boot->lost = exec->deaths->count > exec->deaths->left;
    return end_context(handle, status);
}

catena_status_t catena_finalize(catena_context_t **handle)
{
    if (handle == NULL) {
        return ctn_refuse_null(NULL, __func__, "context");
    }
    catena_context_t *context = *handle;
    if (context == NULL) {
        return CATENA_OK;
    }
    CTN_ENTRY;
    if (!CTN_MARK_IS(context, CTN_CONTEXT)) {
        return ctn_refuse_handle(__func__, "context", context);
    }
    if (context->exec->started > 0 && context->exec->status == CATENA_OK) {
        return ctn_refuse(
            &context->log, CATENA_ERR_STATE, __func__,
            "persistent requests are active (%u); complete them first",
            context->exec->started);
    }
    ctn_recorded_call_t *record =
        ctn_call_enters(context->world, CTN_CODE_FINALIZE, -1);
    if (ctn_groups_are_busy(context->exec, __func__)) {
        ctn_call_refused(context->world, record);
        return CATENA_ERR_STATE;
    }
    catena_status_t status = compare_finalize(context);
    if (status == CATENA_ERR_ARG) {
        ctn_call_returns(context->exec, record, CTN_RECORD_OVER, NULL);
        return status;
    }
    uint64_t none = 0;
    if (context->self != NULL) {
        (void)ctn_group_teardown_sum(context->self, 0, &none);
    }
    ctn_statistics_print(context);
    if (context->world->recovery != NULL) {
        return leave_survivors(handle);
    }
    uint64_t left = /* this rank's part; the scan adds those of all ranks */
        ctn_groups_left(context->exec) || context->exec->requests > 0;
    status = ctn_group_teardown_sum(context->world, 0, &left);
    if (status == CATENA_OK) {
        status = end_teardowns(context, left);
    }
    return end_context(handle, status);
}
