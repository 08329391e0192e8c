/* Litmus tests of the words that ranks of a node, and threads of a rank, share:
 * the shipped functions, in all executions that RC11 allows (litmus/memory.h).
 *
 *   litmus [NAME]
 */

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/membarrier.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <catena/catena.h>

#include "litmus/atomics.h"
#include "litmus/classic.h"

/* What the code under test calls. */
static long system_call(long number);
static ssize_t ring_socket(int fd, const void *datagram, size_t bytes, int how,
                           const struct sockaddr *name, socklen_t length);
static ssize_t empty_socket(int fd, void *datagram, size_t bytes, int how);
static uintptr_t thread_self(void);
#define syscall(number, ...) system_call(number)
#define sendto ring_socket
#define recv empty_socket
#define sched_yield() litmus_yield()
#define __builtin_thread_pointer() ((void *)thread_self())

#include "coll/bcol/shm/shm.h"
#include "core/atomic.h"
#include "exec/aggregate.c"
#define ctn_exec_connect connect_nowhere
static catena_status_t connect_nowhere(ctn_exec_t *exec, uint64_t process,
                                       ctn_endpoint_t **to);
#include "exec/deaths.c"
#include "exec/doorbell.c"
#include "heap/arena.h"
#define ctn_runs_put put_run
static void put_run(ctn_arena_t *arena, ctn_run_t *run);
#include "heap/cache.c"

static uintptr_t thread_self(void)
{
    return (uintptr_t)litmus_thread() + 1;
}

/* ---- a word announces data ---- */

static uint64_t word, other_word, data, other_data;

static void clear_words(void)
{
    word = other_word = data = other_data = 0;
}

static void announce(void)
{
    litmus_plain_write(&data, 7, "data race: the data of a word");
    ctn_word_store(&word, 1);
}

static void take(void)
{
    if (ctn_word_load(&word) == 1) {
        litmus_saw(1);
        litmus_require(
            litmus_plain_read(&data, "data race: the data of a word") == 7,
            "old data behind a word");
    }
}

/* ---- a buffer is used again when its reader has returned it ---- */

static void wait_for(uint64_t *at, uint64_t value)
{
    while (!ctn_word_reaches(at, value, 1)) {
        litmus_yield();
    }
}

static void lend(void)
{
    litmus_plain_write(&data, 1, "data race: a buffer that was lent");
    ctn_word_store(&word, 1);
    wait_for(&other_word, 1);
    litmus_plain_write(&data, 2, "data race: a buffer that was returned");
    ctn_word_store(&word, 2);
}

static void give_back(void)
{
    wait_for(&word, 1);
    litmus_require(litmus_plain_read(&data, "data race: the first read") == 1,
                   "the second data, read as the first");
    ctn_word_store(&other_word, 1);
    wait_for(&word, 2);
    litmus_require(litmus_plain_read(&data, "data race: the second read") == 2,
                   "the first data, read as the second");
}

/* ---- the last of several has the data of all ---- */

enum { MEMBERS = 3 };
static uint64_t part[MEMBERS];
static uint64_t area_word;

static void clear_area(void)
{
    memset(part, 0, sizeof(part));
    area_word = 0;
}

static void read_parts(void)
{
    litmus_saw(1);
    for (int i = 0; i < MEMBERS; i++) {
        litmus_require(litmus_plain_read(&part[i], "data race: a part") ==
                           (uint64_t)i + 1,
                       "the last one does not see all parts");
    }
}

static void contribute(int i)
{
    litmus_plain_write(&part[i], (uint64_t)i + 1, "data race: a part");
    uint64_t joined = add_contribution(&area_word, 5, contribution(5, 8));
    if (ctn_aggregate_contributions(joined) == MEMBERS) {
        read_parts();
    }
}

static void contribute_0(void)
{
    contribute(0);
}

static void contribute_1(void)
{
    contribute(1);
}

static void contribute_2(void)
{
    contribute(2);
}

static shm_last_t last;
static shm_t shm;

static void clear_last(void)
{
    clear_area();
    memset(&last, 0, sizeof(last));
    memset(&shm, 0, sizeof(shm));
    shm.last = &last;
    shm.sequence.generations = 1;
}

static void arrive(int i)
{
    litmus_plain_write(&part[i], (uint64_t)i + 1, "data race: a part");
    if (shm_count(&shm, 0) == MEMBERS) {
        read_parts();
    }
}

static void arrive_0(void)
{
    arrive(0);
}

static void arrive_1(void)
{
    arrive(1);
}

static void arrive_2(void)
{
    arrive(2);
}

/* ---- doorbells ---- */

static ctn_doorbells_t doorbells;
static ctn_doorbell_t doorbell[2];
static uint32_t rings[2]; /* datagrams that were sent to a rank */
static bool found[2];     /* a rank has found the word in its last poll */
static uint64_t sockets[2];

/** The name ends with the rank. */
static ssize_t ring_socket(int fd, const void *datagram, size_t bytes, int how,
                           const struct sockaddr *name, socklen_t length)
{
    (void)fd, (void)datagram, (void)bytes, (void)how, (void)length;
    const struct sockaddr_un *un = (const void *)name;
    const char *rank = strrchr(un->sun_path + 1, '-') + 1;
    (void)litmus_add(&sockets[atoi(rank)], 8, 1, __ATOMIC_ACQ_REL);
    rings[atoi(rank)]++;
    return 1;
}

static ssize_t empty_socket(int fd, void *datagram, size_t bytes, int how)
{
    (void)fd, (void)datagram, (void)bytes, (void)how;
    return -1; /* none so far: each rank sleeps once */
}

static void clear_doorbells(void)
{
    clear_words();
    memset(&doorbells, 0, sizeof(doorbells));
    memset(sockets, 0, sizeof(sockets));
    for (uint32_t i = 0; i < 2; i++) {
        doorbell[i] = (ctn_doorbell_t){
            .node = &doorbells, .rank = i, .ranks = 2, .fd = 0, .named = true};
        rings[i] = 0;
        found[i] = false;
    }
}

static void fall_asleep(int i)
{
    ctn_doorbell_arm(&doorbell[i]);
    found[i] = ctn_word_load(&word) != 0;
}

static void fall_asleep_0(void)
{
    fall_asleep(0);
}

static void fall_asleep_1(void)
{
    fall_asleep(1);
}

static void wake(void)
{
    ctn_doorbell_t own = {
        .node = &doorbells, .rank = 3, .ranks = 2, .fd = 0, .named = true};
    ctn_word_store(&word, 1);
    if (ctn_doorbell_needed(&own)) {
        litmus_saw(1);
        ctn_doorbell_ring(&own);
    }
}

/** A rank that sleeps was rung, or the next ring wakes it. */
static void none_is_deaf(void)
{
    for (int i = 0; i < 2; i++) {
        litmus_require(doorbells.asleep[i] == 0 || doorbells.anyone != 0,
                       "a rank sleeps, and no ring will wake it");
        litmus_require(doorbells.asleep[i] != 0 || rings[i] > 0,
                       "a rank that was taken for awake got no datagram");
    }
    if (doorbells.asleep[0] != 0 && !found[0]) {
        litmus_saw(2); /* the lost wakeup of doorbell.h */
    }
}

/* ---- a rank is inside, or has seen the news ---- */

static ctn_exec_t insider, outsider;
static ctn_exec_flags_t flags;
static ctn_deaths_t deaths;
static ctn_transport_t local;
static ctn_endpoint_t endpoint;
static bool heard;

static void hear(ctn_exec_t *exec)
{
    (void)exec;
    heard = true;
}

static void clear_flags(void)
{
    clear_words();
    heard = false;
    flags = (ctn_exec_flags_t){0};
    deaths = (ctn_deaths_t){.heard = hear};
    insider = (ctn_exec_t){.deaths = &deaths, .flags = &flags, .local = &local};
    endpoint = (ctn_endpoint_t){.arena = (unsigned char *)&flags};
    ctn_hash_map_drop(&outsider.endpoints);
    outsider = (ctn_exec_t){.flags = &flags};
    if (!ctn_hash_map_add(&outsider.endpoints, 1, &endpoint)) {
        abort();
    }
}

/** A rank makes a call, unless it hears of a failure. */
static void enter(void)
{
    ctn_deaths_enter(&insider);
    if (!heard) {
        litmus_saw(1);
        litmus_plain_write(&data, 1, "data race: memory of a call that failed");
    }
    ctn_deaths_exit(&insider);
}

/** A rank tells it of a failure, and uses the memory if it is outside. */
static void end_call(void)
{
    ctn_word_store(&flags.news, 1);
    if (!ctn_is_inside(&outsider, 1)) {
        litmus_saw(2);
        litmus_plain_write(&data, 2, "data race: memory of a call that failed");
    }
}

/* ---- two ranks tell a third one of deaths ---- */

static uint64_t table[3]; /* of deaths, at the third rank */
static uint8_t dead[3];

static ctn_locality_t locality = {.process = 2};

static catena_status_t connect_nowhere(ctn_exec_t *exec, uint64_t process,
                                       ctn_endpoint_t **to)
{
    (void)exec, (void)process, (void)to;
    return CATENA_ERR_UNSUPPORTED;
}

static void clear_news(void)
{
    clear_flags();
    insider.locality = &locality;
    memset(table, 0, sizeof(table));
    memset(dead, 0, sizeof(dead));
    deaths.ranks = 3;
    deaths.successor = 2;
    deaths.table = table;
    deaths.dead = dead;
}

/** As ctn_deaths_notify, to a rank of the node. */
static void tell_death(int of)
{
    ctn_word_store(&table[of], 1);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    ctn_word_store(&flags.news, 1);
}

static void tell_first(void)
{
    tell_death(0);
}

static void tell_second(void)
{
    tell_death(1);
}

static void look_for_news(void)
{
    ctn_deaths_look(&insider);
}

/** News that the last look has not shown leave the flag set. */
static void none_is_lost(void)
{
    for (int i = 0; i < 2; i++) {
        litmus_require(dead[i] != 0 || flags.news != 0, "news are lost");
        litmus_saw(dead[i] != 0 ? 1u << i : 0);
    }
}

/* ---- a thread's cache of the heap is emptied by another thread ---- */

enum { OWNER = 1 }; /* of the cache; thread 0 empties it */
static ctn_cache_slot_t slots[CTN_CACHE_SLOTS];
static ctn_arena_t arena;

static void clear_cache(void)
{
    static ctn_cache_t *cache;
    clear_words();
    memset(slots, 0, sizeof(slots));
    free(cache);
    cache = cache_new();
    if (cache == NULL) {
        abort();
    }
    cache->runs = cache->run_pages = cache->length[0] = 1;
    slots[ctn_cache_slot_first(OWNER + 1)] =
        (ctn_cache_slot_t){.owner = OWNER + 1, .cache = cache};
    memset(&arena, 0, sizeof(arena));
    arena.slots = slots;
    arena.can_empty = true;
}

/** The emptying thread takes a run from the cache. */
static void put_run(ctn_arena_t *from, ctn_run_t *run)
{
    (void)from, (void)run;
    litmus_saw(1);
    litmus_plain_write(&data, 1, "data race: a cache is emptied and used");
}

static void empty_cache(void)
{
    ctn_caches_empty(&arena);
}

static void use_cache(void)
{
    for (int i = 0; i < 2; i++) {
        ctn_cache_t *cache = ctn_cache_enter(&arena);
        if (cache != NULL) {
            litmus_saw(i == 0 ? 2 : 4);
            litmus_plain_write(&data, 2,
                               "data race: a cache is emptied and used");
            ctn_cache_leave(cache);
        }
    }
}

static long system_call(long number)
{
    if (number == SYS_membarrier) {
        litmus_membarrier();
    }
    return 0;
}

/* ---- all of them ---- */

/** Outcomes that some execution must have, and orders without which the program
 * must fail. */
static const struct {
    litmus_t program;
    unsigned seen;
    unsigned needs; /* mask of 1 << litmus_weaker_t */
} tests[] = {
    {{"a word announces data", clear_words, {announce, take}, NULL},
     1,
     1 << LITMUS_NO_RELEASE | 1 << LITMUS_NO_ACQUIRE},
    {{"a buffer is lent and returned", clear_words, {lend, give_back}, NULL},
     0,
     1 << LITMUS_NO_RELEASE | 1 << LITMUS_NO_ACQUIRE},
    {{"the last contributor of an aggregate sees all blocks",
      clear_area,
      {contribute_0, contribute_1, contribute_2},
      NULL},
     1,
     1 << LITMUS_NO_RELEASE | 1 << LITMUS_NO_ACQUIRE},
    {{"the last member of an allreduce sees all vectors",
      clear_last,
      {arrive_0, arrive_1, arrive_2},
      NULL},
     1,
     1 << LITMUS_NO_RELEASE | 1 << LITMUS_NO_ACQUIRE},
    {{"a sleeping rank is rung, or will be",
      clear_doorbells,
      {fall_asleep_0, fall_asleep_1, wake},
      none_is_deaf},
     3,
     1 << LITMUS_NO_SEQ_CST},
    {{"a rank is inside, or has heard the news",
      clear_flags,
      {enter, end_call},
      NULL},
     3,
     1 << LITMUS_NO_SEQ_CST | 1 << LITMUS_NO_RELEASE | 1 << LITMUS_NO_ACQUIRE},
    {{"news of two deaths are heard, or will be",
      clear_news,
      {tell_first, tell_second, look_for_news},
      none_is_lost},
     3,
     1 << LITMUS_NO_SEQ_CST},
    {{"a cache of the heap is used or emptied",
      clear_cache,
      {empty_cache, use_cache},
      NULL},
     7,
     1 << LITMUS_NO_SEQ_CST | 1 << LITMUS_NO_RELEASE | 1 << LITMUS_NO_ACQUIRE},
};

/** Executions of a program at most; none comes near. */
#define LIMIT UINT64_C(10000000)

static const char *const without[] = {"as written", "without release",
                                      "without acquire", "without seq_cst"};

static bool run(size_t t, litmus_weaker_t weaker)
{
    litmus_result_t result = litmus_run(&tests[t].program, weaker, LIMIT);
    bool written = weaker == LITMUS_AS_WRITTEN;
    bool good = written ? result.failure == NULL && result.all &&
                              (result.seen & tests[t].seen) == tests[t].seen
                        : result.failure != NULL &&
                              strncmp(result.failure, "too many", 8) != 0;
    printf("%sok - %s, %s: %" PRIu64 " executions%s%s%s\n", good ? "" : "not ",
           tests[t].program.name, without[weaker], result.executions,
           result.all || result.failure != NULL ? "" : " of more",
           result.failure != NULL ? ": " : "",
           result.failure != NULL ? result.failure : "");
    if (!good && written && result.failure == NULL) {
        printf("# outcomes seen: %#x, expected %#x\n", result.seen,
               tests[t].seen);
    }
    fflush(stdout);
    return good;
}

/** The checker finds what RC11 allows, and nothing else. */
static bool run_classic(const classic_t *classic)
{
    litmus_result_t result =
        litmus_run(&classic->program, LITMUS_AS_WRITTEN, LIMIT);
    bool good = result.failure == NULL && result.all &&
                (result.seen != 0) == classic->allowed;
    printf("%sok - %s: %s, %" PRIu64 " executions\n", good ? "" : "not ",
           classic->program.name, classic->allowed ? "allowed" : "forbidden",
           result.executions);
    return good;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    int failed = 0;
    for (int i = 0; i < classics_count; i++) {
        if (strncmp(classics[i].program.name, name, strlen(name)) == 0) {
            failed += !run_classic(&classics[i]);
        }
    }
    for (size_t t = 0; t < sizeof(tests) / sizeof(tests[0]); t++) {
        if (strncmp(tests[t].program.name, name, strlen(name)) != 0) {
            continue;
        }
        for (litmus_weaker_t w = LITMUS_AS_WRITTEN; w <= LITMUS_NO_SEQ_CST;
             w++) {
            if (w == LITMUS_AS_WRITTEN || (tests[t].needs >> w & 1) != 0) {
                failed += !run(t, w);
            }
        }
    }
    return failed > 0;
}
