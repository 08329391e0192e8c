#include <catena/request.h>

#include "core/entry.h"
#include "core/handle.h"
#include "exec/observe.h"

/* Requests: the public interface of operations. */

/** Whether a wait for the request would return at once. */
static inline bool complete(const ctn_op_t *op)
{
    return op == NULL || op->state == CTN_OP_DONE ||
           op->state == CTN_OP_INACTIVE;
}

/** Take the status of a complete request. A persistent request becomes
 * inactive; another is released, and its handle becomes NULL. */
static inline catena_status_t harvest(catena_request_t **request)
{
    ctn_op_t *op = *request;
    if (op == NULL) {
        return CATENA_OK;
    }
    catena_status_t status = ctn_exec_result(op->exec, op->status);
    if (__builtin_expect(status != CATENA_OK, 0)) {
        ctn_log_returns_error(op->algorithm->name, status);
    }
    if (op->persistent) {
        op->exec->started -= op->state != CTN_OP_INACTIVE;
        op->state = CTN_OP_INACTIVE;
        op->status = CATENA_OK;
    } else {
        *request = NULL;
        ctn_op_release(op);
    }
    return status;
}

/** Whether one of the requests was freed. */
static inline bool any_freed(size_t count, catena_request_t *const requests[])
{
    for (size_t i = 0; i < count; i++) {
        if (requests[i] != NULL && !CTN_MARK_IS(requests[i], CTN_REQUEST)) {
            return true;
        }
    }
    return false;
}

/** The log of the first request that is not NULL; NULL: there is none. */
CTN_COLD static const ctn_log_t *log_of(size_t count,
                                        catena_request_t *const requests[])
{
    for (size_t i = 0; requests != NULL && i < count; i++) {
        if (!CTN_UNUSABLE(requests[i], CTN_REQUEST)) {
            return requests[i]->exec->log;
        }
    }
    return NULL;
}

/** Refuse a request that is not both persistent and inactive. */
CTN_COLD static catena_status_t refuse_active(const catena_request_t *request,
                                              const char *function)
{
    return ctn_refuse(
        request->exec->log, CATENA_ERR_STATE, function,
        "expected a persistent, inactive request, found %s; %s",
        request->persistent ? "one that is active" : "a nonblocking one",
        request->persistent ? "complete it first, by a wait or a test"
                            : "a wait or a test completes and releases it");
}

CTN_COLD static catena_status_t refuse_start(const catena_request_t *request)
{
    static const char function[] = "catena_request_start";
    return CTN_UNUSABLE(request, CTN_REQUEST)
               ? ctn_refuse_handle(function, "request", request)
               : refuse_active(request, function);
}

catena_status_t catena_request_start(catena_request_t *request)
{
    CTN_ENTRY;
    if (CTN_UNUSABLE(request, CTN_REQUEST) || !request->persistent ||
        request->state != CTN_OP_INACTIVE) {
        return refuse_start(request);
    }
    request->exec->started++;
    if (request->initialized.scope != CTN_SCOPE_NONE) {
        request->recorded =
            ctn_recorder_start(request->exec->recorder, &request->initialized);
    }
    if (request->start == NULL || !request->start(request)) {
        ctn_op_start_request(request);
    }
    return CATENA_OK;
}

catena_status_t catena_request_startall(size_t count,
                                        catena_request_t *requests[])
{
    CTN_ENTRY;
    catena_status_t first_error = CATENA_OK;
    if (requests == NULL && count > 0) {
        return CTN_REFUSE_NULL(NULL, requests);
    }
    for (size_t i = 0; i < count; i++) {
        catena_status_t status = catena_request_start(requests[i]);
        first_error = first_error == CATENA_OK ? status : first_error;
    }
    return first_error;
}

catena_status_t catena_request_test(catena_request_t **request, int *done)
{
    CTN_ENTRY;
    if (request == NULL || done == NULL) {
        return ctn_refuse_null(log_of(1, request), __func__,
                               request == NULL ? "request" : "done");
    }
    if (any_freed(1, request)) {
        return ctn_refuse_handle(__func__, "request", *request);
    }
    if (!complete(*request)) {
        (void)ctn_exec_progress((*request)->exec);
    }
    *done = complete(*request);
    return *done ? harvest(request) : CATENA_OK;
}

/** Wait under the eyes of an observer. */
CTN_COLD static void observe_wait(ctn_op_t *op)
{
    ctn_exec_t *exec = op->exec;
    uint32_t calls = op->observed;
    uint64_t began = ctn_observe_wait(op);
    (void)ctn_op_wait(op);
    ctn_observe_waited(exec, calls, began);
}

catena_status_t catena_request_wait(catena_request_t **request)
{
    CTN_ENTRY;
    if (request == NULL) {
        return ctn_refuse_null(NULL, __func__, "request");
    }
    if (any_freed(1, request)) {
        return ctn_refuse_handle(__func__, "request", *request);
    }
    ctn_op_t *op = *request;
    if (!complete(op) && op->exec->observer != NULL) {
        observe_wait(op);
    }
    if (!complete(op) && (op->wait == NULL || !op->wait(op))) {
        (void)ctn_op_wait(op);
    }
    return harvest(request);
}

catena_status_t catena_request_waitall(size_t count,
                                       catena_request_t *requests[])
{
    CTN_ENTRY;
    catena_status_t first_error = CATENA_OK;
    if (requests == NULL && count > 0) {
        return CTN_REFUSE_NULL(NULL, requests);
    }
    for (size_t i = 0; i < count; i++) {
        catena_status_t status = catena_request_wait(&requests[i]);
        first_error = first_error == CATENA_OK ? status : first_error;
    }
    return first_error;
}

catena_status_t catena_request_testall(size_t count,
                                       catena_request_t *requests[], int *done)
{
    CTN_ENTRY;
    if (done == NULL || (requests == NULL && count > 0)) {
        return CTN_REFUSE_NULL(log_of(count, requests), done, requests);
    }
    if (any_freed(count, requests)) {
        return ctn_refuse_handle(__func__, "a request", requests);
    }
    bool progressed = false;
    for (size_t i = 0; i < count; i++) {
        if (!complete(requests[i]) && !progressed) {
            (void)ctn_exec_progress(requests[i]->exec);
            progressed = true;
        }
        if (!complete(requests[i])) {
            *done = 0;
            return CATENA_OK;
        }
    }
    *done = 1;
    return catena_request_waitall(count, requests);
}

/** Whether a request is active in MPI's sense: it was started, and its status
 * has not been taken. */
static bool active(const ctn_op_t *op)
{
    return op != NULL && op->state != CTN_OP_INACTIVE;
}

/** Find the first active request that is complete.
 * @param[out] exec the context's, NULL if no request is active
 * @return its index, or `count` */
static size_t find_complete(size_t count, catena_request_t *const requests[],
                            ctn_exec_t **exec)
{
    *exec = NULL;
    for (size_t i = 0; i < count; i++) {
        if (active(requests[i])) {
            *exec = requests[i]->exec;
            if (complete(requests[i])) {
                return i;
            }
        }
    }
    return count;
}

/** The same; if none is complete, poll once and look again. */
static size_t test_complete(size_t count, catena_request_t *const requests[],
                            ctn_exec_t **exec)
{
    size_t index = find_complete(count, requests, exec);
    if (index == count && *exec != NULL) {
        (void)ctn_exec_progress(*exec);
        index = find_complete(count, requests, exec);
    }
    return index;
}

static size_t poll_complete(size_t count, catena_request_t *const requests[])
{
    ctn_backoff_t backoff = {0};
    for (;;) {
        ctn_exec_t *exec;
        size_t index = find_complete(count, requests, &exec);
        if (index < count || exec == NULL) {
            return index;
        }
        ctn_exec_poll_or_idle(exec, &backoff);
    }
}

/** Wait until an active request is complete. To an observer it is a wait for
 * the first active one. @return the index of the first that is complete, or
 * `count` if none is active */
static size_t wait_complete(size_t count, catena_request_t *const requests[])
{
    size_t first = 0;
    while (first < count && !active(requests[first])) {
        first++;
    }
    if (first == count || requests[first]->exec->observer == NULL) {
        return poll_complete(count, requests);
    }
    ctn_exec_t *exec = requests[first]->exec;
    uint32_t calls = requests[first]->observed;
    uint64_t began = ctn_observe_wait(requests[first]);
    size_t index = poll_complete(count, requests);
    ctn_observe_waited(exec, calls, began);
    return index;
}

catena_status_t catena_request_waitany(size_t count,
                                       catena_request_t *requests[],
                                       size_t *index)
{
    CTN_ENTRY;
    if (index == NULL || (requests == NULL && count > 0)) {
        return CTN_REFUSE_NULL(log_of(count, requests), index, requests);
    }
    if (any_freed(count, requests)) {
        return ctn_refuse_handle(__func__, "a request", requests);
    }
    *index = wait_complete(count, requests);
    return *index < count ? harvest(&requests[*index]) : CATENA_OK;
}

catena_status_t catena_request_testany(size_t count,
                                       catena_request_t *requests[],
                                       size_t *index, int *done)
{
    CTN_ENTRY;
    if (index == NULL || done == NULL || (requests == NULL && count > 0)) {
        return CTN_REFUSE_NULL(log_of(count, requests), index, done, requests);
    }
    if (any_freed(count, requests)) {
        return ctn_refuse_handle(__func__, "a request", requests);
    }
    ctn_exec_t *exec;
    *index = test_complete(count, requests, &exec);
    *done = *index < count || exec == NULL;
    return *index < count ? harvest(&requests[*index]) : CATENA_OK;
}

/** The arguments of waitsome and testsome. */
typedef struct some {
    size_t count;
    catena_request_t **requests;
    size_t *completed;
    size_t *indices;
    catena_status_t *statuses;
} some_t;

static bool valid(const some_t *some)
{
    return some->completed != NULL &&
           (some->count == 0 ||
            (some->requests != NULL && some->indices != NULL));
}

/** Take the statuses of all active requests that are complete.
 * @param[out] active_left whether active requests remain
 * @return the first error */
static catena_status_t harvest_some(const some_t *some, bool *active_left)
{
    catena_status_t first_error = CATENA_OK;
    size_t taken = 0;
    *active_left = false;
    for (size_t i = 0; i < some->count; i++) {
        if (!active(some->requests[i])) {
            continue;
        }
        if (!complete(some->requests[i])) {
            *active_left = true;
            continue;
        }
        catena_status_t status = harvest(&some->requests[i]);
        if (some->statuses != NULL) {
            some->statuses[taken] = status;
        }
        some->indices[taken++] = i;
        first_error = first_error == CATENA_OK ? status : first_error;
    }
    *some->completed = taken;
    return first_error;
}

catena_status_t catena_request_waitsome(size_t count,
                                        catena_request_t *requests[],
                                        size_t *completed, size_t indices[],
                                        catena_status_t statuses[])
{
    CTN_ENTRY;
    some_t some = {count, requests, completed, indices, statuses};
    if (!valid(&some)) {
        return CTN_REFUSE_NULL(log_of(count, requests), completed, requests,
                               indices);
    }
    if (any_freed(count, requests)) {
        return ctn_refuse_handle(__func__, "a request", requests);
    }
    bool active_left;
    (void)wait_complete(count, requests);
    return harvest_some(&some, &active_left);
}

catena_status_t catena_request_testsome(size_t count,
                                        catena_request_t *requests[],
                                        size_t *completed, size_t indices[],
                                        catena_status_t statuses[], int *done)
{
    CTN_ENTRY;
    some_t some = {count, requests, completed, indices, statuses};
    if (done == NULL || !valid(&some)) {
        return CTN_REFUSE_NULL(log_of(count, requests), done, completed,
                               requests, indices);
    }
    if (any_freed(count, requests)) {
        return ctn_refuse_handle(__func__, "a request", requests);
    }
    ctn_exec_t *exec;
    bool active_left;
    (void)test_complete(count, requests, &exec);
    catena_status_t status = harvest_some(&some, &active_left);
    *done = !active_left;
    return status;
}

catena_status_t catena_request_free(catena_request_t **request)
{
    CTN_ENTRY;
    if (request == NULL) {
        return CTN_REFUSE_NULL(NULL, request);
    }
    if (*request == NULL) {
        return CATENA_OK;
    }
    if (any_freed(1, request)) {
        return ctn_refuse_handle(__func__, "request", *request);
    }
    /* A complete request is active until its status is taken. */
    if (!(*request)->persistent || (*request)->state != CTN_OP_INACTIVE) {
        return refuse_active(*request, __func__);
    }
    void *owned = (*request)->owned;
    void (*dispose)(void *) = (*request)->dispose;
    ctn_op_release(*request);
    if (owned != NULL) {
        dispose(owned);
    }
    *request = NULL;
    return CATENA_OK;
}

catena_status_t catena_request_describe(const catena_request_t *request,
                                        char *text, size_t bytes)
{
    CTN_ENTRY;
    if (request != NULL && !CTN_MARK_IS(request, CTN_REQUEST)) {
        return ctn_refuse_handle(__func__, "request", request);
    }
    const ctn_log_t *log = request != NULL ? request->exec->log : NULL;
    if (text == NULL) {
        return CTN_REFUSE_NULL(log, text);
    }
    if (bytes == 0) {
        return ctn_refuse(log, CATENA_ERR_ARG, __func__, CTN_NO_BYTES);
    }
    if (request == NULL) {
        text[0] = '\0';
        return CATENA_OK;
    }
    ctn_op_describe(request, text, bytes);
    return CATENA_OK;
}
