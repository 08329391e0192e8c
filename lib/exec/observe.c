#include "exec/observe.h"

#include <stdlib.h>

#include "core/vector.h"
#include "exec/trace.h"

/** A put under way, of which the source is still in use. */
typedef struct put {
    struct put *next;
    const uint64_t *pending; /* the count that the caller passed */
    uint64_t left;           /* how often it will be decremented for this put */
    uint64_t id;
    uint64_t began_ns;
    uint64_t process;
    uint64_t bytes;
} put_t;

struct ctn_observer {
    ctn_exec_t *exec;
    bool counts;        /* CATENA_STATS */
    ctn_trace_t *trace; /* NULL: none */
    ctn_vector_t calls; /* of ctn_observed_calls_t */
    uint32_t current;   /* 1 + index of what the rank is in; 0: nothing */
    uint64_t ids;       /* given so far */
    uint64_t began[CTN_RECORDS]; /* the calls of the recorder */
    put_t *puts;                 /* oldest first */
    put_t **last_put;            /* where the next one is linked */
    /* The network's functions, of which some are observed. */
    ctn_transport_ops_t ops;
    const ctn_transport_ops_t *network_ops;
};

uint64_t ctn_observe_time(ctn_exec_t *exec)
{
    return exec->local->ops->observed_time != NULL
               ? exec->local->ops->observed_time(exec->local)
               : ctn_exec_time(exec);
}

/* ---- calls ---- */

static uint64_t *began_at(ctn_observer_t *observer,
                          const ctn_recorded_call_t *call)
{
    const ctn_recorder_t *recorder = observer->exec->recorder;
    return &observer->began[call - ctn_recorder_records(recorder)];
}

static ctn_observed_calls_t *calls_at(const ctn_observer_t *observer,
                                      uint32_t index)
{
    return index > 0 && index <= observer->calls.count
               ? (ctn_observed_calls_t *)observer->calls.item + index - 1
               : NULL;
}

static uint32_t index_of(const ctn_observer_t *observer, uint64_t scope,
                         uint32_t code)
{
    for (uint32_t i = 1; i <= observer->calls.count; i++) {
        const ctn_observed_calls_t *calls = calls_at(observer, i);
        if (calls->scope == scope && calls->code == code) {
            return i;
        }
    }
    return 0;
}

/** 1 + the index of the counts of a call; 0: there is no memory for them. Calls
 * beyond so many groups and collectives are counted together, by collective. */
static uint32_t find(ctn_observer_t *observer, const ctn_recorded_call_t *call)
{
    enum { MOST = 200 };
    uint64_t id = call->scope;
    uint32_t index = index_of(observer, id, call->code);
    if (index == 0 && observer->calls.count >= MOST) {
        id = CTN_SCOPE_UNKNOWN;
        index = index_of(observer, id, call->code);
    }
    ctn_observed_calls_t *calls =
        index == 0 ? ctn_vector_add(&observer->calls, sizeof(*calls)) : NULL;
    if (calls == NULL) {
        return index;
    }
    calls->scope = id;
    calls->code = call->code;
    const ctn_recorder_t *recorder = observer->exec->recorder;
    const ctn_recorded_scope_t *scope =
        ctn_recorder_scopes(recorder, recorder->records);
    for (uint32_t i = 0; i < recorder->scopes; i++) {
        if (scope[i].id == id) {
            calls->size = scope[i].size;
        }
    }
    return (uint32_t)observer->calls.count;
}

void ctn_observe_enter(ctn_exec_t *exec, const ctn_recorded_call_t *call)
{
    ctn_observer_t *observer = exec->observer;
    *began_at(observer, call) = ctn_observe_time(exec);
    observer->current = observer->counts ? find(observer, call) : 0;
}

void ctn_observe_return(ctn_exec_t *exec, const ctn_recorded_call_t *call,
                        ctn_op_t *op)
{
    ctn_observer_t *observer = exec->observer;
    uint64_t began = *began_at(observer, call);
    ctn_observed_calls_t *calls = calls_at(observer, observer->current);
    if (calls != NULL && call->state != CTN_RECORD_REFUSED) {
        calls->calls++;
        calls->bytes += call->bytes;
        calls->time_ns += ctn_observe_time(exec) - began;
        if (op != NULL) {
            op->observed = observer->current;
        }
    }
    observer->current = 0;
    if (observer->trace != NULL) {
        ctn_trace_work(observer->trace, began, ctn_call_name(call->code), call,
                       0);
    }
}

uint64_t ctn_observe_wait(const ctn_op_t *op)
{
    op->exec->observer->current = op->observed;
    return ctn_observe_time(op->exec);
}

void ctn_observe_waited(ctn_exec_t *exec, uint32_t calls, uint64_t began)
{
    ctn_observed_calls_t *waited = calls_at(exec->observer, calls);
    if (waited != NULL) {
        waited->time_ns += ctn_observe_time(exec) - began;
    }
    exec->observer->current = 0;
    ctn_observe_work(exec, began, "wait", 0);
}

void ctn_observe_slept(ctn_exec_t *exec, uint64_t ns)
{
    ctn_observed_calls_t *calls =
        calls_at(exec->observer, exec->observer->current);
    if (calls != NULL) {
        calls->wait_ns += ns;
    }
}

void ctn_observe_idle(ctn_exec_t *exec, ctn_backoff_t *backoff)
{
    uint64_t now = ctn_observe_time(exec);
    if (backoff->idle_ns != 0) {
        ctn_observe_slept(exec, now - backoff->idle_ns);
    }
    backoff->idle_ns = now;
}

/* ---- operations ---- */

void ctn_observe_phase(ctn_op_t *op, const ctn_phase_t *phase)
{
    ctn_observer_t *observer = op->exec->observer;
    if (op->shown == phase || observer->trace == NULL) {
        return;
    }
    if (op->shown == NULL) {
        op->shown_id = ++observer->ids;
        op->shown_name = op->algorithm->name;
        ctn_trace_begin(observer->trace, "operation", op->shown_id,
                        op->shown_name);
    } else {
        ctn_trace_end(observer->trace, "operation", op->shown_id,
                      op->shown->name);
    }
    op->shown = phase;
    ctn_trace_begin(observer->trace, "operation", op->shown_id, phase->name);
}

void ctn_observe_op_end(ctn_op_t *op)
{
    const ctn_observer_t *observer = op->exec->observer;
    if (op->shown != NULL && observer->trace != NULL) {
        ctn_trace_end(observer->trace, "operation", op->shown_id,
                      op->shown->name);
        ctn_trace_end(observer->trace, "operation", op->shown_id,
                      op->shown_name);
    }
    op->shown = NULL;
}

void ctn_observe_work(ctn_exec_t *exec, uint64_t began, const char *what,
                      uint64_t bytes)
{
    if (exec->observer->trace != NULL) {
        ctn_trace_work(exec->observer->trace, began, what, NULL, bytes);
    }
}

/* ---- the network ---- */

static ctn_observer_t *observer_of(const ctn_transport_t *transport)
{
    return (
        ctn_observer_t *)(void *)((unsigned char *)(uintptr_t)transport->ops -
                                  offsetof(ctn_observer_t, ops));
}

static void show_put(const ctn_observer_t *observer, const put_t *put)
{
    ctn_trace_put(observer->trace, put->id, put->began_ns, put->process,
                  put->bytes);
}

static void keep_put(ctn_observer_t *observer, const put_t *put)
{
    put_t *kept = malloc(sizeof(*kept));
    if (kept != NULL) {
        *kept = *put;
        *observer->last_put = kept;
        observer->last_put = &kept->next;
    }
}

static catena_status_t put_signal(ctn_endpoint_t *endpoint, const void *source,
                                  size_t bytes, uint64_t offset,
                                  uint64_t word_offset, uint64_t value,
                                  uint64_t *pending)
{
    const ctn_transport_t *transport = endpoint->transport;
    if (transport->ops->sender != NULL) {
        transport = transport->ops->sender(endpoint);
    }
    if (transport->ops->put_signal != put_signal) { /* it is being destroyed */
        return transport->ops->put_signal(endpoint, source, bytes, offset,
                                          word_offset, value, pending);
    }
    ctn_observer_t *observer = observer_of(transport);
    bool counted = bytes > CTN_INJECT_BYTES;
    put_t put = {.pending = pending,
                 .began_ns = ctn_observe_time(observer->exec),
                 .process = endpoint->process,
                 .bytes = bytes};
    uint64_t before = counted ? *pending : 0;
    catena_status_t status = observer->network_ops->put_signal(
        endpoint, source, bytes, offset, word_offset, value, pending);
    put.left = counted ? *pending - before : 0;
    put.id = bytes > 0 ? ++observer->ids : 0;
    if (put.left > 0) {
        keep_put(observer, &put);
    } else if (bytes > 0) {
        show_put(observer, &put);
    }
    return status;
}

/** Some source is free: that of the oldest put with this count. */
static void freed(ctn_transport_t *transport, const uint64_t *pending)
{
    ctn_observer_t *observer = observer_of(transport);
    put_t **link = &observer->puts;
    while (*link != NULL && (*link)->pending != pending) {
        link = &(*link)->next;
    }
    put_t *put = *link;
    if (put == NULL || --put->left > 0) {
        return;
    }
    *link = put->next;
    if (put->next == NULL) {
        observer->last_put = link;
    }
    show_put(observer, put);
    free(put);
}

static void drop_puts(ctn_observer_t *observer)
{
    while (observer->puts != NULL) {
        put_t *put = observer->puts;
        observer->puts = put->next;
        free(put);
    }
}

static void destroy(ctn_transport_t *transport)
{
    transport->ops = observer_of(transport)->network_ops;
    transport->freed = NULL;
    transport->ops->destroy(transport);
}

static void watch_network(ctn_observer_t *observer)
{
    ctn_transport_t *network = observer->exec->network;
    if (network != NULL) {
        observer->network_ops = network->ops;
        observer->ops = *network->ops;
        observer->ops.put_signal = put_signal;
        observer->ops.destroy = destroy;
        network->ops = &observer->ops;
        network->freed = freed;
    }
}

/* ---- lifetime ---- */

void ctn_observer_open(ctn_exec_t *exec, const ctn_exec_config_t *config,
                       const char *node, bool clears)
{
    if ((config->stats == 0 && config->trace[0] == '\0') ||
        exec->recorder == NULL) {
        return;
    }
    ctn_observer_t *observer = calloc(1, sizeof(*observer));
    if (observer != NULL) {
        observer->exec = exec;
        observer->last_put = &observer->puts;
        observer->counts = config->stats != 0;
        if (config->trace[0] != '\0') {
            observer->trace = ctn_trace_open(exec, config->trace, node, clears);
        }
    }
    if (observer == NULL ||
        (observer->trace == NULL && config->trace[0] != '\0')) {
        ctn_warn(exec->log, "no memory for CATENA_STATS and CATENA_TRACE of "
                            "this rank");
    }
    exec->observer = observer;
    if (observer != NULL && observer->trace != NULL) {
        watch_network(observer);
    }
}

void ctn_observe_end(ctn_exec_t *exec)
{
    if (exec->observer->trace != NULL) {
        ctn_trace_flush(exec->observer->trace);
    }
}

void ctn_observer_close(ctn_exec_t *exec)
{
    ctn_observer_t *observer = exec->observer;
    if (observer == NULL) {
        return;
    }
    if (observer->trace != NULL) {
        ctn_trace_close(observer->trace);
    }
    drop_puts(observer);
    ctn_vector_drop(&observer->calls);
    exec->observer = NULL;
    free(observer);
}

const ctn_observed_calls_t *ctn_observed(ctn_exec_t *exec, size_t *count)
{
    ctn_observer_t *observer = exec->observer;
    *count = 0;
    if (observer == NULL || !observer->counts) {
        return NULL;
    }
    observer->counts = false;
    *count = observer->calls.count;
    return observer->calls.item;
}
