/* Deaths of processes; see deaths.h. */

#include "exec/deaths.h"

#include <stdlib.h>

/** Between checks of a rank that polls. */
static const uint64_t CHECK_NS = 20000000;

enum { DIED = 1, LEFT }; /* a word of the table */

static void report(void *argument, uint64_t process, bool leaves);

catena_status_t ctn_deaths_open(ctn_exec_t *exec, uint32_t ranks,
                                uint64_t *table)
{
    ctn_deaths_t *deaths = calloc(1, sizeof(*deaths));
    uint8_t *marks = calloc(ranks, 3);
    if (deaths == NULL || marks == NULL) {
        free(deaths);
        free(marks);
        return CATENA_ERR_NO_MEMORY;
    }
    *deaths = (ctn_deaths_t){.ranks = ranks,
                             .table = table,
                             .dead = marks,
                             .closed = marks + ranks,
                             .direct = marks + 2 * (size_t)ranks,
                             .joining = true,
                             .successor = exec->locality->process};
    (void)ctn_heap_contains(exec->heap, table, 1, &deaths->offset);
    exec->deaths = deaths;
    ctn_transport_t *transports[] = {exec->local, exec->network};
    for (size_t i = 0; i < 2; i++) {
        if (transports[i] != NULL && transports[i]->ops->watch != NULL) {
            transports[i]->ops->watch(transports[i], report, exec);
        }
    }
    return CATENA_OK;
}

void ctn_deaths_release(ctn_exec_t *exec)
{
    if (exec->deaths != NULL) { /* the table is freed with the heap */
        free(exec->deaths->dead);
        free(exec->deaths);
        exec->deaths = NULL;
    }
}

catena_status_t ctn_deaths_notify(ctn_exec_t *exec, uint64_t process,
                                  bool connect, uint64_t word_offset,
                                  uint64_t value)
{
    ctn_endpoint_t *endpoint;
    if (ctn_is_dead(exec, process) || exec->flags == NULL ||
        (!connect && !ctn_is_connected(exec, process))) {
        return CATENA_OK;
    }
    /* Behind all data that this rank has sent. */
    catena_status_t status =
        exec->deaths->direct[process] != 0
            ? exec->network->ops->connect(exec->network, process, &endpoint)
            : ctn_exec_connect(exec, process, &endpoint);
    if (status == CATENA_OK) {
        status = ctn_signal(endpoint, word_offset, value);
    }
    if (status == CATENA_OK) {
        __atomic_thread_fence(__ATOMIC_SEQ_CST); /* see ctn_deaths_news */
        status = ctn_signal(
            endpoint, exec->flags_offset + offsetof(ctn_exec_flags_t, news), 1);
    }
    return status == CATENA_ERR_NO_MEMORY ? status : CATENA_OK;
}

/** The next living process; this one itself: there is no other. */
static uint64_t successor_of(const ctn_exec_t *exec)
{
    const ctn_deaths_t *deaths = exec->deaths;
    uint64_t own = exec->locality->process;
    uint64_t next = (own + 1) % deaths->ranks;
    while (next != own && deaths->dead[next] != 0) {
        next = (next + 1) % deaths->ranks;
    }
    return next;
}

/** Connect to the successor, so that the network reports its death. */
static void watch_successor(ctn_exec_t *exec)
{
    uint64_t successor = successor_of(exec);
    if (successor != exec->deaths->successor) {
        exec->deaths->successor = successor;
        ctn_endpoint_t *endpoint;
        if (successor != exec->locality->process) {
            (void)ctn_exec_connect(exec, successor, &endpoint);
        }
    }
}

/** Tell the ranks that this one is connected to of a death. */
static void tell(ctn_exec_t *exec, uint64_t process, bool leaves)
{
    uint64_t word =
        exec->deaths->offset + process * sizeof(*exec->deaths->table);
    /* Also the process itself, if it lives: it must end. */
    for (size_t i = 0; i < exec->endpoints.slots; i++) {
        const ctn_endpoint_t *endpoint = exec->endpoints.entry[i].value;
        if (endpoint != NULL && endpoint->process != exec->locality->process) {
            (void)ctn_deaths_notify(exec, endpoint->process, false, word,
                                    leaves ? LEFT : DIED);
        }
    }
}

/** A process has died: tell the layer above and other ranks, once. */
static void note(ctn_exec_t *exec, uint64_t process, bool leaves)
{
    ctn_deaths_t *deaths = exec->deaths;
    /* A rank that has aborted may exit at once: the abort is the cause. */
    ctn_exec_check_abort_flag(exec);
    if (process >= deaths->ranks || deaths->dead[process] != 0 ||
        exec->status != CATENA_OK) {
        return;
    }
    if (process == exec->locality->process) {
        ctn_error(exec->log,
                  "another rank lost its connection to this one and "
                  "takes it for dead: the context of this rank ends");
        tell(exec, process, false);
        ctn_exec_end(exec, CATENA_ERR_PEER);
        return;
    }
    if (deaths->joining) {
        ctn_error(exec->log,
                  "rank %llu has died while the ranks joined the job",
                  (unsigned long long)process);
        (void)ctn_exec_abort(exec, CATENA_ERR_PEER);
        return;
    }
    ctn_info(exec->log, "rank %llu has %s", (unsigned long long)process,
             deaths->leaving ? "left or died" : "died");
    if (!deaths->over) {
        tell(exec, process, leaves);
    }
    deaths->dead[process] = 1;
    deaths->count++;
    deaths->left += leaves;
    if (deaths->died != NULL && !deaths->over) {
        deaths->died(exec, process);
    }
    /* If this rank leaves, the successor may have left, too: then it is watched
     * only in a long wait. */
    if (!deaths->leaving) {
        watch_successor(exec);
    }
}

/** The handler of the transports. The network reports the processes that this
 * rank is connected to. */
static void report(void *argument, uint64_t process, bool leaves)
{
    ctn_exec_t *exec = argument;
    ctn_deaths_t *deaths = exec->deaths;
    /* The simulator tells each rank of each death. */
    if (process >= deaths->ranks ||
        (exec->virtual_time && !ctn_is_connected(exec, process))) {
        return;
    }
    deaths->closed[process] = 1;
    if (leaves && !deaths->leaving && !deaths->joining) {
        ctn_info(exec->log,
                 "rank %llu has left the job before this rank calls "
                 "catena_finalize: it counts as dead",
                 (unsigned long long)process);
    }
    note(exec, process, leaves);
}

void ctn_deaths_found(ctn_exec_t *exec, uint64_t process)
{
    note(exec, process, false);
}

void ctn_deaths_news(ctn_exec_t *exec)
{
    ctn_deaths_t *deaths = exec->deaths;
    /* Later news set the flag again. The fences here and in ctn_deaths_notify:
     * what is in the table before news that this store overwrites is seen. */
    __atomic_store_n(&exec->flags->news, 0, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    for (uint64_t process = 0; process < deaths->ranks; process++) {
        uint64_t word = deaths->dead[process] == 0
                            ? ctn_word_load(&deaths->table[process])
                            : 0;
        if (word != 0) {
            note(exec, process, word == LEFT);
        }
    }
    if (deaths->heard != NULL) {
        deaths->heard(exec);
    }
    ctn_exec_wake(exec);
}

void ctn_deaths_enter(ctn_exec_t *exec)
{
    if (exec->deaths->depth++ == 0 && exec->flags != NULL) {
        /* This rank stores `inside` and loads the news; a rank that notifies
         * it stores the news and loads `inside` (ctn_is_inside). Both have a
         * fence in between, so at least one sees the store of the other. */
        __atomic_store_n(&exec->flags->inside, 1, __ATOMIC_RELAXED);
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
        ctn_deaths_look(exec);
    }
}

void ctn_deaths_exit(ctn_exec_t *exec)
{
    ctn_deaths_t *deaths = exec->deaths;
    if (deaths->depth == 1 && deaths->untold) {
        deaths->untold = false;
        deaths->outside(exec);
    }
    if (--deaths->depth == 0 && exec->flags != NULL) {
        __atomic_store_n(&exec->flags->inside, 0, __ATOMIC_RELEASE);
    }
}

bool ctn_is_inside(const ctn_exec_t *exec, uint64_t process)
{
    const ctn_endpoint_t *endpoint =
        ctn_hash_map_find(&exec->endpoints, process);
    if (endpoint == NULL || endpoint->arena == NULL || exec->flags == NULL) {
        return false;
    }
    const ctn_exec_flags_t *flags =
        (const void *)(endpoint->arena + exec->flags_offset);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return __atomic_load_n(&flags->inside, __ATOMIC_ACQUIRE) != 0;
}

void ctn_deaths_check(ctn_exec_t *exec)
{
    if (exec->deaths == NULL || exec->status != CATENA_OK) {
        return;
    }
    if (exec->local->ops->check != NULL) {
        exec->local->ops->check(exec->local);
    }
    if (!exec->deaths->over) {
        watch_successor(exec);
    }
    ctn_exec_wake(exec);
}

void ctn_deaths_check_sometimes(ctn_exec_t *exec, uint64_t now_ns)
{
    if (now_ns - exec->deaths->checked_ns > CHECK_NS) {
        exec->deaths->checked_ns = now_ns;
        ctn_deaths_check(exec);
    }
}
