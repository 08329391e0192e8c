/* A PMIx client that does one thing, for launcher.sh.
 *
 *   client keys print the PMIx keys of this rank and its node
 *   client app print the PMIx keys of this rank's program
 *   client modex [fence] read the data that every other rank has put
 *   client early rank 0 reads before the last rank has put
 *   client local read the data put for the ranks of this node
 *   client exit CODE RANK RANK exits with CODE, the others wait forever
 *   client abort CODE RANK RANK calls PMIx_Abort
 *   client intrude CODE calls PMIx_Abort at once
 *   client raise SIG RANK RANK raises SIG
 *   client forget RANK RANK exits 0 without PMIx_Finalize
 *   client event the last rank notifies, all have a handler
 *   client ring MS fence repeatedly for MS milliseconds
 *   client wait init, then wait forever
 *   client deaf the same, ignoring TERM, INT and HUP
 *   client fence init, fence, finalize */
#include <pmix.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pmix_proc_t me;
static uint32_t size;

static void check(int status, const char *what)
{
    if (status == PMIX_SUCCESS)
        return;
    fprintf(stderr, "client: %s: %s (%d)\n", what, PMIx_Error_string(status),
            status);
    _exit(99);
}

/* The value of a key as text: "none" if PMIx has no such key. */
static char *value_of(uint32_t rank, const char *key)
{
    static char text[16][2048];
    static int turn;
    char *out = text[turn++ % 16];
    pmix_proc_t proc;
    pmix_value_t *value = NULL;
    pmix_info_t info;
    PMIX_LOAD_PROCID(&proc, me.nspace, rank);
    /* PMIx 4.2 looks up another rank's node id in the data of its node, which
     * lacks it. The data of the rank has it. */
    bool of_rank = rank != me.rank && strcmp(key, PMIX_NODEID) == 0;
    PMIX_INFO_LOAD(&info, PMIX_JOB_INFO, NULL, PMIX_BOOL);
    int status = PMIx_Get(&proc, key, of_rank ? &info : NULL, of_rank, &value);
    if (status != PMIX_SUCCESS) {
        snprintf(out, sizeof text[0], "none(%d)", status);
        return out;
    }
    if (value->type == PMIX_STRING)
        snprintf(out, sizeof text[0], "%s", value->data.string);
    else if (value->type == PMIX_UINT16)
        snprintf(out, sizeof text[0], "%u", value->data.uint16);
    else if (value->type == PMIX_UINT32 || value->type == PMIX_PROC_RANK)
        snprintf(out, sizeof text[0], "%u", value->data.uint32);
    else
        snprintf(out, sizeof text[0], "type(%d)", value->type);
    PMIX_VALUE_RELEASE(value);
    return out;
}

static void print_keys(void)
{
    const uint32_t all = PMIX_RANK_WILDCARD;
    char *nodes = NULL;
    printf("size=%s univ=%s nodes=%s list=%s lsize=%s nsize=%s peers=%s "
           "lldr=%s lrank=%s nrank=%s grank=%s node=%s host=%s env=%s",
           value_of(all, PMIX_JOB_SIZE), value_of(all, PMIX_UNIV_SIZE),
           value_of(all, PMIX_NUM_NODES), value_of(all, PMIX_NODE_LIST),
           value_of(all, PMIX_LOCAL_SIZE), value_of(all, PMIX_NODE_SIZE),
           value_of(all, PMIX_LOCAL_PEERS), value_of(all, PMIX_LOCALLDR),
           value_of(me.rank, PMIX_LOCAL_RANK),
           value_of(me.rank, PMIX_NODE_RANK),
           value_of(me.rank, PMIX_GLOBAL_RANK), value_of(me.rank, PMIX_NODEID),
           value_of(me.rank, PMIX_HOSTNAME), getenv("CATENA_HOST_RANKS"));
    printf(" where=");
    for (uint32_t rank = 0; rank < size; rank++)
        printf("%s%s", rank ? "," : "", value_of(rank, PMIX_NODEID));
    printf(" locals=");
    for (uint32_t rank = 0; rank < size; rank++)
        printf("%s%s", rank ? "," : "", value_of(rank, PMIX_LOCAL_RANK));
    check(PMIx_Resolve_nodes(me.nspace, &nodes), "PMIx_Resolve_nodes");
    printf(" resolved=");
    char *rest = NULL;
    for (char *node = strtok_r(nodes, ",", &rest); node;
         node = strtok_r(NULL, ",", &rest)) {
        pmix_proc_t *procs = NULL;
        size_t count = 0;
        check(PMIx_Resolve_peers(node, me.nspace, &procs, &count),
              "PMIx_Resolve_peers");
        for (size_t i = 0; i < count; i++)
            printf("%s%u", i ? "," : "", procs[i].rank);
        printf(";");
        PMIX_PROC_FREE(procs, count);
    }
    printf(" hosts=");
    for (uint32_t rank = 0; rank < size; rank++)
        printf("%s%s", rank ? "," : "", value_of(rank, PMIX_HOSTNAME));
    printf("\n");
    free(nodes);
}

/* The value of a key of this rank's program. */
static uint32_t app_value(uint32_t number, const char *key)
{
    pmix_info_t info[2];
    pmix_proc_t proc;
    pmix_value_t *value = NULL;
    PMIX_LOAD_PROCID(&proc, me.nspace, PMIX_RANK_WILDCARD);
    PMIX_INFO_LOAD(&info[0], PMIX_APP_INFO, NULL, PMIX_BOOL);
    PMIX_INFO_LOAD(&info[1], PMIX_APPNUM, &number, PMIX_UINT32);
    check(PMIx_Get(&proc, key, info, 2, &value), key);
    uint32_t number_of = value->data.uint32;
    PMIX_VALUE_RELEASE(value);
    return number_of;
}

static void print_app(void)
{
    const uint32_t all = PMIX_RANK_WILDCARD;
    uint32_t app = (uint32_t)atoi(value_of(me.rank, PMIX_APPNUM));
    printf("app=%u arank=%s asize=%u aldr=%u apps=%s size=%s univ=%s lldr=%s "
           "lsize=%s\n",
           app, value_of(me.rank, PMIX_APP_RANK), app_value(app, PMIX_APP_SIZE),
           app_value(app, PMIX_APPLDR), value_of(all, PMIX_JOB_NUM_APPS),
           value_of(all, PMIX_JOB_SIZE), value_of(all, PMIX_UNIV_SIZE),
           value_of(all, PMIX_LOCALLDR), value_of(all, PMIX_LOCAL_SIZE));
}

static void put(int scope)
{
    pmix_value_t value = {.type = PMIX_UINT32, .data.uint32 = me.rank + 1000};
    check(PMIx_Put((pmix_scope_t)scope, "test.card", &value), "PMIx_Put");
    check(PMIx_Commit(), "PMIx_Commit");
}

static void expect_record(uint32_t rank)
{
    pmix_proc_t proc;
    pmix_value_t *value = NULL;
    PMIX_LOAD_PROCID(&proc, me.nspace, rank);
    check(PMIx_Get(&proc, "test.card", NULL, 0, &value),
          "PMIx_Get of a record");
    if (value->type != PMIX_UINT32 || value->data.uint32 != rank + 1000)
        check(PMIX_ERROR, "the value of a record");
    PMIX_VALUE_RELEASE(value);
}

static void fence(bool collect)
{
    pmix_info_t info;
    PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
    check(PMIx_Fence(NULL, 0, &info, 1), "PMIx_Fence");
}

static void read_local_cards(void)
{
    char *rest = NULL;
    put(PMIX_LOCAL);
    for (char *peer = strtok_r(value_of(PMIX_RANK_WILDCARD, PMIX_LOCAL_PEERS),
                               ",", &rest);
         peer; peer = strtok_r(NULL, ",", &rest))
        expect_record((uint32_t)atoi(peer));
}

static atomic_int notified;

static void handler(size_t id, pmix_status_t status, const pmix_proc_t *source,
                    pmix_info_t info[], size_t count, pmix_info_t *results,
                    size_t result_count,
                    pmix_event_notification_cbfunc_fn_t done, void *data)
{
    (void)id;
    (void)source;
    (void)info;
    (void)count;
    (void)results;
    (void)result_count;
    atomic_store(&notified, status);
    done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, data);
}

static void exchange_event(void)
{
    pmix_status_t code = PMIX_EXTERNAL_ERR_BASE - 7;
    int status =
        PMIx_Register_event_handler(&code, 1, NULL, 0, handler, NULL, NULL);
    if (status < 0)
        check(status, "PMIx_Register_event_handler");
    fence(false);
    if (me.rank == size - 1)
        check(PMIx_Notify_event(code, &me, PMIX_RANGE_NAMESPACE, NULL, 0, NULL,
                                NULL),
              "PMIx_Notify_event");
    for (int i = 0; i < 3000 && atomic_load(&notified) != code; i++)
        usleep(1000);
    if (me.rank != size - 1 && atomic_load(&notified) != code)
        check(PMIX_ERR_TIMEOUT, "the event");
}

_Noreturn static void wait_for_ever(void)
{
    printf("ready %u %d\n", me.rank, (int)getpid());
    fflush(stdout);
    for (;;)
        pause();
}

static void fence_for(long milliseconds)
{
    struct timespec start, now;
    clock_gettime(CLOCK_MONOTONIC, &start);
    do {
        fence(false);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - start.tv_sec) * 1000 +
                 (now.tv_nsec - start.tv_nsec) / 1000000 <
             milliseconds);
    /* Ranks stop in different rounds: end without a common call. */
    _exit(0);
}

static void fail_somehow(const char *mode, int what, uint32_t rank)
{
    fence(false);
    if (me.rank != rank)
        wait_for_ever();
    if (strcmp(mode, "exit") == 0)
        _exit(what);
    if (strcmp(mode, "raise") == 0)
        raise(what);
    if (strcmp(mode, "abort") == 0)
        PMIx_Abort(what, "as asked", NULL, 0);
    wait_for_ever();
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "fence";
    int first = argc > 2 ? atoi(argv[2]) : 0;
    uint32_t second = argc > 3 ? (uint32_t)atoi(argv[3]) : 0;
    if (strcmp(mode, "deaf") == 0) {
        signal(SIGTERM, SIG_IGN);
        signal(SIGINT, SIG_IGN);
        signal(SIGHUP, SIG_IGN);
    }
    check(PMIx_Init(&me, NULL, 0), "PMIx_Init");
    size = (uint32_t)atoi(value_of(PMIX_RANK_WILDCARD, PMIX_JOB_SIZE));
    if (strcmp(mode, "keys") == 0) {
        print_keys();
    } else if (strcmp(mode, "app") == 0) {
        print_app();
    } else if (strcmp(mode, "modex") == 0) {
        put(PMIX_GLOBAL);
        if (argc > 2)
            fence(true);
        for (uint32_t rank = 0; rank < size; rank++)
            expect_record(rank);
    } else if (strcmp(mode, "early") == 0) {
        if (me.rank == size - 1)
            usleep(200000);
        put(PMIX_GLOBAL);
        if (me.rank == 0)
            expect_record(size - 1);
    } else if (strcmp(mode, "local") == 0) {
        read_local_cards();
    } else if (strcmp(mode, "event") == 0) {
        exchange_event();
    } else if (strcmp(mode, "ring") == 0) {
        fence_for(first);
    } else if (strcmp(mode, "forget") == 0) {
        fence(false);
        if (me.rank != (uint32_t)first)
            wait_for_ever();
        _exit(0);
    } else if (strcmp(mode, "intrude") == 0) {
        PMIx_Abort(first, "as asked", NULL, 0);
        _exit(0);
    } else if (strcmp(mode, "wait") == 0 || strcmp(mode, "deaf") == 0) {
        wait_for_ever();
    } else if (strcmp(mode, "fence") != 0) {
        fail_somehow(mode, first, second);
    }
    fence(false);
    check(PMIx_Finalize(NULL, 0), "PMIx_Finalize");
    return 0;
}
