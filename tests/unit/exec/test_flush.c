/* A flush that fails: the transport does not write its counter afterwards. */

#include <sched.h>
#include <stdlib.h>

#include "core/clock.h"
#include "exec/exec.h"
#include "neighbor/link/protocol.h"
#include "transports/shm/shm.h"
#include "unit/transports/wire.h"
#include "unit/unit.h"

/* ---- exec tells the network ---- */

typedef struct fake {
    ctn_transport_t base;
    uint64_t *kept; /* what a later progress would write */
} fake_t;

static catena_status_t fake_flush(ctn_transport_t *base, uint64_t *pending)
{
    ((fake_t *)base)->kept = pending;
    ++*pending;
    return CATENA_OK;
}

static int fake_progress(ctn_transport_t *base)
{
    (void)base;
    return CATENA_ERR_PEER;
}

static void fake_abandon(ctn_transport_t *base, catena_status_t status)
{
    (void)status;
    ((fake_t *)base)->kept = NULL;
}

START_TEST(exec_gives_up)
{
    static const ctn_transport_ops_t ops = {.flush = fake_flush,
                                            .progress = fake_progress,
                                            .abandon = fake_abandon};
    fake_t fake = {{.ops = &ops}, NULL};
    ctn_exec_t exec = {.local = ctn_shm_create(0, NULL, NULL),
                       .network = &fake.base,
                       .doorbell = {.fd = -1}};
    ctn_exec_init(&exec);
    for (int i = 0; i < 2; i++) { /* one that fails, and one after it */
        ck_assert_int_eq(ctn_link_finalize(&exec), CATENA_ERR_PEER);
        ck_assert_ptr_null(fake.kept);
    }
    ctn_exec_release(&exec);
    exec.local->ops->destroy(exec.local);
}
END_TEST

/* ---- and that heeds it ---- */

enum { DATA = 1 << 20, BYTES = 4 << 20, WORD = 64, BACK = 128 };

static uint64_t word(const rank_t *r, size_t offset)
{
    return ctn_word_load((uint64_t *)(void *)(r->arena + offset));
}

/** Rank 1 makes no progress, so messages of rank 0 stay pending. */
static void body_given_up(rank_t *r)
{
    const ctn_transport_ops_t *ops = r->transport->ops;
    ctn_endpoint_t *peer = connect_to(r, 1 - r->rank);
    uint64_t end = ctn_clock_now_ns() + DEADLINE_NS;
    uint64_t sent = 0;
    uint64_t flushed = 0;

    NEED(ctn_signal(peer, BACK, 1) == CATENA_OK);
    wait_word(r, BACK, 1);
    meet(r);
    if (r->rank == 1) {
        usleep(100000);
        wait_word(r, WORD, 2);
        NEED(ctn_signal(peer, WORD, 3) == CATENA_OK);
        meet(r);
        return;
    }
    NEED(ops->put_signal(peer, r->arena + DATA, BYTES, DATA, WORD, 1, &sent) ==
         CATENA_OK);
    NEED(ops->flush(r->transport, &flushed) == CATENA_OK);
    NEED(sent > 0 && flushed == 1);
    uint64_t before = sent;
    ops->abandon(r->transport, CATENA_ERR_PEER);
    NEED(ops->progress(r->transport) == CATENA_ERR_PEER);
    NEED(ctn_signal(peer, WORD, 2) ==
         CATENA_OK); /* as an abort flag would be */
    while (word(r, WORD) != 3) {
        (void)ops->progress(r->transport);
        NEED(ctn_clock_now_ns() < end);
        sched_yield();
    }
    NEED(sent == before && flushed == 1);
    __atomic_add_fetch(&r->meeting->arrived[r->barriers], 1, __ATOMIC_ACQ_REL);
}

START_TEST(ucx_heeds_it)
{
    /* a kernel may keep more than BYTES in its buffers of a connection */
    setenv("UCX_TCP_SNDBUF", "64k", 1);
    setenv("UCX_TCP_RCVBUF", "64k", 1);
    run_ranks(2, _i, 2 * BYTES, -1, body_given_up);
    unsetenv("UCX_TCP_SNDBUF");
    unsetenv("UCX_TCP_RCVBUF");
}
END_TEST

static void add_cases(TCase *tcase)
{
    tcase_add_test(tcase, exec_gives_up);
    tcase_add_loop_test(tcase, ucx_heeds_it, 0, 2);
}

UNIT_TEST(flush)
{
    return unit_main("flush", 60, add_cases);
}
