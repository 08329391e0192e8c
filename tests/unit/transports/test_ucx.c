#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "core/clock.h"
#include "transports/ucx/ucx.h"
#include "unit/unit.h"
#include "wire.h"

/* time after which the other ranks have received what was sent */
#define LINGER_NS UINT64_C(200000000)

static const size_t sizes[] = {0,      1,      8,       100,    4096,
                               4097,   8192,   65536,   130048, 130049,
                               262144, 999999, 1 << 20, 4 << 20};
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))
#define FROM ((size_t)8 << 20) /* source of puts */

/** Each size to the right neighbor by every function. */
static void body_sizes(rank_t *r)
{
    const ctn_transport_ops_t *ops = r->transport->ops;
    int left = (r->rank + r->size - 1) % r->size;
    ctn_endpoint_t *right = connect_to(r, (r->rank + 1) % r->size);
    ctn_endpoint_t *back = connect_to(r, left);
    unsigned char *got = malloc(4 << 20);

    for (size_t i = 0; i < SIZES; i++) {
        size_t bytes = sizes[i];
        uint64_t pending = 0;
        uint64_t seed = 1000 * i + (uint64_t)r->rank;
        uint64_t left_seed = 1000 * i + (uint64_t)left;

        fill(r->arena + FROM, bytes, seed);
        NEED(ops->put_signal(right, r->arena + FROM, bytes, 4096, 64, i + 1,
                             &pending) == CATENA_OK);
        wait_word(r, 64, i + 1);
        NEED(filled(r->arena + 4096, bytes, left_seed));
        wait_pending(r, &pending);

        /* The neighbor has read its data before the next put. */
        NEED(ctn_signal(back, 128, i + 1) == CATENA_OK);
        wait_word(r, 128, i + 1);
        fill(r->arena + FROM, bytes, seed + 50);
        NEED(ops->put_signal(right, r->arena + FROM, bytes, 4096, 72, i + 1,
                             &pending) == CATENA_OK);
        wait_pending(r, &pending);
        NEED(ops->flush(r->transport, &pending) == CATENA_OK);
        wait_pending(r, &pending);
        NEED(ops->get(right, got, bytes, 4096, &pending) == CATENA_OK);
        wait_pending(r, &pending);
        NEED(filled(got, bytes, seed + 50));
        NEED(ctn_signal(right, 192, i + 1) == CATENA_OK);
        wait_word(r, 192, i + 1);
        NEED(filled(r->arena + 4096, bytes, left_seed + 50));
        NEED(ctn_signal(back, 256, i + 1) == CATENA_OK);
        wait_word(r, 256, i + 1);
    }
    free(got);
    meet(r);
}

START_TEST(test_sizes)
{
    run_ranks(2, _i, ARENA_BYTES, -1, body_sizes);
}
END_TEST

START_TEST(test_ring_of_four)
{
    run_ranks(4, _i, ARENA_BYTES, -1, body_sizes);
}
END_TEST

#define MESSAGES 400
#define SLOT_BYTES ((size_t)16384)

static size_t message_bytes(int from, int message)
{
    unsigned x = (unsigned)(from * 7919 + message * 104729);
    return message % 40 == 0 ? 12000 + x % 4000 : x % 700;
}

static size_t slot(int from, int message)
{
    return ((size_t)from * MESSAGES + (size_t)message) * SLOT_BYTES;
}

/** All messages at once; when a flag is visible, so are its data. */
static void body_many(rank_t *r)
{
    const ctn_transport_ops_t *ops = r->transport->ops;
    uint64_t pending = 0, end = ctn_clock_now_ns() + DEADLINE_NS;
    unsigned char *source = malloc(SLOT_BYTES * MESSAGES);

    for (int m = 0; m < MESSAGES; m++) {
        size_t bytes = message_bytes(r->rank, m);
        unsigned char *at = source + SLOT_BYTES * (size_t)m;
        for (int peer = 0; peer < r->size; peer++) {
            if (peer == r->rank)
                continue;
            size_t to = slot(r->rank, m);
            fill(at, bytes, (uint64_t)(r->rank + m));
            NEED(ops->put_signal(connect_to(r, peer), at, bytes, to + 8, to,
                                 (uint64_t)m + 1, &pending) == CATENA_OK);
        }
        /* When nothing is pending the source is free. */
        if (pending == 0)
            memset(at, 0xff, bytes);
    }
    for (int left = (r->size - 1) * MESSAGES; left > 0;) {
        for (int from = 0; from < r->size; from++)
            for (int m = 0; m < MESSAGES; m++) {
                uint64_t *word = (uint64_t *)(void *)(r->arena + slot(from, m));
                if (ctn_word_load(word) != (uint64_t)m + 1)
                    continue;
                NEED(filled((unsigned char *)(word + 1), message_bytes(from, m),
                            (uint64_t)(from + m)));
                *word = 0;
                left--;
            }
        step(r, end);
    }
    wait_pending(r, &pending);
    free(source);
    meet(r);
}

START_TEST(test_many_in_flight)
{
    run_ranks(4, _i, slot(4, 0), -1, body_many);
}
END_TEST

static void body_self(rank_t *r)
{
    const ctn_transport_ops_t *ops = r->transport->ops;
    uint64_t pending = 0;
    ctn_endpoint_t *self = connect_to(r, r->rank);

    fill(r->arena + FROM, 300000, 5);
    NEED(ops->put_signal(self, r->arena + FROM, 300000, 4096, 64, 9,
                         &pending) == CATENA_OK);
    wait_word(r, 64, 9);
    NEED(filled(r->arena + 4096, 300000, 5));
    wait_pending(r, &pending);
    NEED(ops->flush(r->transport, &pending) == CATENA_OK);
    wait_pending(r, &pending);
}

START_TEST(test_self)
{
    run_ranks(1, _i, ARENA_BYTES, -1, body_self);
}
END_TEST

/** Progress must report ERR_PEER before the deadline. */
static void need_peer_error(rank_t *r)
{
    uint64_t end = ctn_clock_now_ns() + DEADLINE_NS;
    int progress;
    while ((progress = r->transport->ops->progress(r->transport)) >= 0) {
        NEED(ctn_clock_now_ns() < end);
        sched_yield();
    }
    NEED(progress == CATENA_ERR_PEER);
    NEED(r->transport->ops->progress(r->transport) == CATENA_ERR_PEER);
}

/** Rank 2 dies. Rank 0 sends to it all the time; rank 1 only receives from it.
 */
static void body_killed(rank_t *r)
{
    const ctn_transport_ops_t *ops = r->transport->ops;
    uint64_t pending = 0;

    r->log.level = CATENA_LOG_FATAL;
    if (r->rank == 2) {
        NEED(ctn_signal(connect_to(r, 0), 64, 1) == CATENA_OK);
        NEED(ctn_signal(connect_to(r, 1), 64, 1) == CATENA_OK);
        wait_word(r, 64, 1);
        meet(r);
        kill(getpid(), SIGKILL);
    }
    if (r->rank == 0)
        NEED(ctn_signal(connect_to(r, 2), 64, 1) == CATENA_OK);
    wait_word(r, 64, 1);
    meet(r);
    if (r->rank == 0) {
        ctn_endpoint_t *dead = connect_to(r, 2);
        uint64_t end = ctn_clock_now_ns() + DEADLINE_NS;
        while (ops->put_signal(dead, r->arena + FROM, 1 << 20, 4096, 64, 2,
                               &pending) == CATENA_OK) {
            NEED(ctn_clock_now_ns() < end);
            if (ops->progress(r->transport) < 0)
                break;
        }
        NEED(ctn_signal(dead, 64, 3) != CATENA_OK);
    }
    need_peer_error(r);
}

START_TEST(test_killed_peer)
{
    run_ranks(3, _i, ARENA_BYTES, 2, body_killed);
}
END_TEST

/** Rank 0 leaves early, which is no failure for the others. */
static void body_leave(rank_t *r)
{
    for (int peer = 0; peer < r->size; peer++)
        if (peer < r->rank)
            NEED(ctn_signal(connect_to(r, peer), 64 + 8 * (uint64_t)r->rank,
                            1) == CATENA_OK);
    for (int peer = r->rank + 1; peer < r->size; peer++)
        wait_word(r, 64 + 8 * (uint64_t)peer, 1);
    meet(r);
    uint64_t end = ctn_clock_now_ns() + 300000000u * (uint64_t)r->rank;
    while (ctn_clock_now_ns() < end) {
        NEED(r->transport->ops->progress(r->transport) >= 0);
        usleep(500);
    }
}

START_TEST(test_leave)
{
    run_ranks(3, _i, ARENA_BYTES, -1, body_leave);
}
END_TEST

/** Rank 1 stops progress and then dies, while rank 0 gets from it: each get
 * that is incomplete by then ends with an error. */
static void body_killed_get(rank_t *r)
{
    const ctn_transport_ops_t *ops = r->transport->ops;
    unsigned char *got = malloc(4 << 20);
    uint64_t pending = 0;

    r->log.level = CATENA_LOG_FATAL;
    NEED(ctn_signal(connect_to(r, 1 - r->rank), 64, 1) == CATENA_OK);
    wait_word(r, 64, 1);
    meet(r);
    if (r->rank == 1) {
        usleep(100000);
        kill(getpid(), SIGKILL);
    }
    for (int i = 0; i < 4; i++)
        NEED(ops->get(connect_to(r, 1), got + ((size_t)i << 20), 1 << 20, FROM,
                      &pending) == CATENA_OK);
    if ((r->transport->caps & CTN_CAP_RDMA) == 0)
        NEED(pending == 4);
    need_peer_error(r);
    uint64_t end = ctn_clock_now_ns() + DEADLINE_NS;
    while (pending > 0) {
        (void)ops->progress(r->transport);
        NEED(ctn_clock_now_ns() < end);
    }
    NEED(ops->get(connect_to(r, 1), got, 8, FROM, &pending) != CATENA_OK);
    NEED(pending == 0);
    free(got);
}

START_TEST(test_killed_get)
{
    run_ranks(2, _i, ARENA_BYTES, 1, body_killed_get);
}
END_TEST

/** Rank 0 leaves while others get from it: each get completes or fails. */
static void body_leave_get(rank_t *r)
{
    const ctn_transport_ops_t *ops = r->transport->ops;
    unsigned char *got = calloc(1, 4 << 20);
    uint64_t pending = 0, end = ctn_clock_now_ns() + DEADLINE_NS;

    fill(r->arena + FROM, 4 << 20, (uint64_t)r->rank);
    for (int peer = 0; peer < r->size; peer++)
        if (peer != r->rank)
            NEED(ctn_signal(connect_to(r, peer), 64 + 8 * (uint64_t)r->rank,
                            1) == CATENA_OK);
    for (int peer = 0; peer < r->size; peer++)
        if (peer != r->rank)
            wait_word(r, 64 + 8 * (uint64_t)peer, 1);
    meet(r);
    if (r->rank > 0) {
        int progress = 0;
        r->log.level = CATENA_LOG_FATAL;
        NEED(ops->get(connect_to(r, 0), got, 4 << 20, FROM, &pending) ==
             CATENA_OK);
        while (pending > 0 && progress >= 0) {
            progress = ops->progress(r->transport);
            NEED(ctn_clock_now_ns() < end);
        }
        NEED(progress < 0 || filled(got, 4 << 20, 0));
    }
    /* A pending get may still write to `got`, which is freed with the process.
     */
}

START_TEST(test_leave_get)
{
    run_ranks(3, _i, ARENA_BYTES, -1, body_leave_get);
}
END_TEST

static void body_sleep(rank_t *r)
{
    const ctn_transport_ops_t *ops = r->transport->ops;
    ctn_endpoint_t *peer = connect_to(r, 1 - r->rank);

    NEED((r->transport->caps & CTN_CAP_SLEEP) != 0);
    NEED(ctn_signal(peer, 64, 1) == CATENA_OK);
    wait_word(r, 64, 1);
    meet(r);
    if (r->rank == 0) {
        usleep(50000);
        NEED(ctn_signal(peer, 64, 2) == CATENA_OK);
    } else {
        int wakes = 0;
        while (ctn_word_load((uint64_t *)(void *)(r->arena + 64)) != 2) {
            if (ops->progress(r->transport) == 0) {
                (void)ops->sleep(r->transport, UINT64_MAX, -1);
                wakes++;
            }
        }
        NEED(wakes < 50); /* woken: otherwise it would sleep forever */
        for (int i = 0; i < 20; i++) {
            ops->progress(r->transport);
            (void)ops->sleep(r->transport, 1000000, -1);
        }
        int fds[2];
        NEED(pipe(fds) == 0 && write(fds[1], "", 1) == 1);
        wakes = 0;
        while (!ops->sleep(r->transport, UINT64_MAX, fds[0])) {
            ops->progress(r->transport);
            NEED(++wakes < 50);
        }
        close(fds[0]);
        close(fds[1]);
    }
    meet(r);
}

START_TEST(test_sleep)
{
    run_ranks(2, _i, ARENA_BYTES, -1, body_sleep);
}
END_TEST

/** The target rejects offsets outside the arena. */
static void body_outside(rank_t *r)
{
    static const uint64_t bad[][3] = {/* offset, word, bytes */
                                      {ARENA_BYTES - 8, 64, 16},
                                      {UINT64_MAX - 4, 64, 16},
                                      {ARENA_BYTES + 4096, 64, 300000},
                                      {4096, UINT64_MAX - 7, 16},
                                      {4096, 65, 16},
                                      {4096, ARENA_BYTES - 4, 300000}};
    uint64_t pending = 0, end = ctn_clock_now_ns() + DEADLINE_NS;
    int progress;

    r->log.level = CATENA_LOG_FATAL;
    if (r->rank == 0) {
        for (int i = 0; i < r->size - 1; i++) {
            const uint64_t *b = bad[r->arena_bytes == ARENA_BYTES ? i : i + 3];
            NEED(r->transport->ops->put_signal(connect_to(r, i + 1),
                                               r->arena + FROM, b[2], b[0],
                                               b[1], 7, &pending) == CATENA_OK);
        }
        wait_pending(r, &pending);
        /* A rank that rejects a message ends; the messages that others are to
         * reject must still be sent. */
        for (end = ctn_clock_now_ns() + LINGER_NS; ctn_clock_now_ns() < end;
             sched_yield())
            (void)r->transport->ops->progress(r->transport);
    } else {
        while ((progress = r->transport->ops->progress(r->transport)) >= 0) {
            NEED(ctn_clock_now_ns() < end);
            sched_yield();
        }
        NEED(progress == CATENA_ERR_TRANSPORT);
        NEED(ctn_word_load((uint64_t *)(void *)(r->arena + 64)) == 0);
    }
}

START_TEST(test_outside_arena)
{
    run_ranks(4, 0, ARENA_BYTES, -1, body_outside);
    /* the second half of the table */
    run_ranks(4, 0, ARENA_BYTES - 8, -1, body_outside);
}
END_TEST

/** Truncated or modified endpoint addresses are rejected. */
static void body_ep_addresses(rank_t *r)
{
    ctn_endpoint_t *endpoint = NULL;
    uint64_t bytes = r->meeting->ep_address_bytes[0];

    r->log.level = CATENA_LOG_FATAL;
    for (uint64_t n = 0; n < bytes; n++) {
        r->meeting->ep_address_bytes[0] = n;
        NEED(r->transport->ops->connect(r->transport, 0, &endpoint) !=
             CATENA_OK);
    }
    r->meeting->ep_address_bytes[0] = bytes;
    for (int i = 0; i < 16; i++) { /* magic, version, process */
        r->meeting->ep_addresses[0][i] ^= 0x55;
        NEED(r->transport->ops->connect(r->transport, 0, &endpoint) !=
             CATENA_OK);
        r->meeting->ep_addresses[0][i] ^= 0x55;
    }
    NEED(endpoint == NULL);
    connect_to(r, 0);
}

/** What carries another secret is dropped, and changes nothing. */
static void body_stranger(rank_t *r)
{
    const ctn_transport_ops_t *ops = r->transport->ops;
    ctn_ucx_t *transport = (ctn_ucx_t *)r->transport;
    uint64_t pending = 0, end = ctn_clock_now_ns() + DEADLINE_NS;
    if (r->rank == 0) {
        ctn_ucx_endpoint_t *peer = (ctn_ucx_endpoint_t *)connect_to(r, 1);
        fill(r->arena + FROM, 4096, 1);
        peer->secret ^= 1;
        NEED(ops->put_signal(&peer->base, r->arena + FROM, 4096, 4096, 64, 1,
                             &pending) == CATENA_OK);
        NEED(ops->put_signal(&peer->base, r->arena + FROM, 1 << 20, 4096, 64, 1,
                             &pending) == CATENA_OK);
        peer->secret ^= 1;
        NEED(ctn_signal(&peer->base, 72, 1) == CATENA_OK);
        wait_pending(r, &pending);
    } else {
        wait_word(r, 72, 1);
        NEED(transport->strangers && transport->status == CATENA_OK);
        NEED(ctn_word_load((uint64_t *)(void *)(r->arena + 64)) == 0);
        for (size_t i = 0; i < 1 << 20; i++) {
            NEED(r->arena[4096 + i] == 0);
        }
    }
    step(r, end);
    meet(r);
}

START_TEST(test_stranger)
{
    run_ranks(2, 0, ARENA_BYTES, -1, body_stranger);
}
END_TEST

START_TEST(test_ep_addresses)
{
    run_ranks(1, 0, ARENA_BYTES, -1, body_ep_addresses);
}
END_TEST

static void body_sparse(rank_t *r)
{
    struct rusage usage;
    uint64_t pending = 0;
    uint64_t far = r->arena_bytes - 4096;

    NEED(r->transport->ops->put_signal(connect_to(r, 1 - r->rank), "far", 4,
                                       far, far + 8, 1, &pending) == CATENA_OK);
    wait_word(r, far + 8, 1);
    NEED(memcmp(r->arena + far, "far", 4) == 0);
    wait_pending(r, &pending);
    getrusage(RUSAGE_SELF, &usage);
    NEED(usage.ru_maxrss < 200 * 1024);
    meet(r);
}

START_TEST(test_sparse_arena)
{
    run_ranks(2, _i, (size_t)12 << 30, -1, body_sparse);
}
END_TEST

static long page_faults(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
}

/** With UCX's defaults the first message that is not sent from the stack makes
 * a pool of one MiB and touches all of it: 130 page faults. */
static void body_first_large(rank_t *r)
{
    const ctn_transport_ops_t *ops = r->transport->ops;
    ctn_endpoint_t *peer = connect_to(r, 1 - r->rank);
    uint64_t pending = 0;

    memset(r->arena + 4096, 0, 16384); /* exclude its page faults */
    fill(r->arena + FROM, 16384, (uint64_t)r->rank);
    NEED(ops->put_signal(peer, r->arena + FROM, 4096, 4096, 64, 1, &pending) ==
         CATENA_OK);
    wait_word(r, 64, 1);
    wait_pending(r, &pending);
    long faults = page_faults();
    NEED(ops->put_signal(peer, r->arena + FROM, 16384, 4096, 128, 1,
                         &pending) == CATENA_OK);
    wait_word(r, 128, 1);
    wait_pending(r, &pending);
    NEED(page_faults() - faults < 64);
    NEED(filled(r->arena + 4096, 16384, (uint64_t)(1 - r->rank)));
    meet(r);
}

START_TEST(test_first_large)
{
    run_ranks(2, 0, ARENA_BYTES, -1, body_first_large);
}
END_TEST

static void add_cases(TCase *tcase)
{
    tcase_add_loop_test(tcase, test_sizes, 0, VARIANTS);
    tcase_add_loop_test(tcase, test_ring_of_four, 0, VARIANTS);
    tcase_add_loop_test(tcase, test_many_in_flight, 0, VARIANTS);
    tcase_add_loop_test(tcase, test_self, 0, VARIANTS);
    tcase_add_loop_test(tcase, test_killed_peer, 0, VARIANTS_NETWORK);
    tcase_add_loop_test(tcase, test_killed_get, 0, VARIANTS_NETWORK);
    tcase_add_loop_test(tcase, test_leave, 0, VARIANTS);
    tcase_add_loop_test(tcase, test_leave_get, 0, VARIANTS_NETWORK);
    tcase_add_loop_test(tcase, test_sleep, 0, VARIANTS_NETWORK);
    tcase_add_test(tcase, test_outside_arena);
    tcase_add_test(tcase, test_stranger);
    tcase_add_test(tcase, test_ep_addresses);
    tcase_add_loop_test(tcase, test_sparse_arena, 0, VARIANTS);
    tcase_add_test(tcase, test_first_large);
}

UNIT_TEST(ucx)
{
    return unit_main("ucx", 60, add_cases);
}
