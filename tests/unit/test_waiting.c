#include <poll.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/config.h"
#include "exec/exec.h"
#include "transports/shm/shm.h"

#include "unit.h"

/* Ranks of one node, which for a doorbell may as well be one process: what it
 * says of them is in the heap. */

enum { RANKS = 3 };

static const uint64_t LONG_NS = UINT64_C(20000000000);

static ctn_heap_t *heap;
static ctn_bell_t bells[RANKS];

static void open_bells(void)
{
    static const ctn_log_t quiet = {.level = CTN_LOG_FATAL};
    ctn_heap_params_t params = {.log = &quiet,
                                .limit = (size_t)16 << 20,
                                .local_size = RANKS,
                                .numa = -1};
    char name[64];
    ck_assert_int_eq(ctn_heap_create(&params, &heap, name), CATENA_OK);
    ctn_heap_attached(heap);
    for (uint32_t i = 0; i < RANKS; i++) {
        ctn_bell_open(&bells[i], &quiet, heap, i, RANKS);
        ck_assert(ctn_bell_hears(&bells[i]));
        ck_assert(bells[i].named);
    }
}

static void close_bells(void)
{
    for (uint32_t i = 0; i < RANKS; i++) {
        ctn_bell_close(&bells[i]);
    }
    ctn_heap_destroy(heap);
}

static bool rung(uint32_t rank)
{
    struct pollfd event = {.fd = bells[rank].fd, .events = POLLIN};
    return poll(&event, 1, 0) == 1;
}

START_TEST(rings_those_who_listen_once)
{
    ck_assert(!ctn_bell_wanted(&bells[0]));
    ctn_bell_listen(&bells[1]);
    ck_assert(ctn_bell_wanted(&bells[0]));
    ctn_bell_ring(&bells[0]);
    ck_assert(!ctn_bell_wanted(&bells[0]));
    ck_assert(rung(1));
    ck_assert(!rung(2));
    ctn_bell_listen(&bells[1]);
    ck_assert(!rung(1)); /* what came before is forgotten */
    ctn_bell_listen(&bells[2]);
    ctn_bell_ring(&bells[0]);
    ctn_bell_ring(&bells[0]);
    ck_assert(rung(1));
    ck_assert(rung(2));
    ck_assert(!rung(0));
}
END_TEST

START_TEST(rings_nobody_who_does_not_listen)
{
    ctn_bell_ring(&bells[0]);
    ctn_bell_listen(&bells[0]);
    ctn_bell_ring(&bells[0]); /* by itself: it is awake */
    for (uint32_t i = 0; i < RANKS; i++) {
        ck_assert(!rung(i));
    }
}
END_TEST

/** As a killed rank leaves it: its flag set, its socket gone. */
START_TEST(the_dead_hurt_nobody)
{
    ctn_bell_listen(&bells[1]);
    close(bells[1].fd);
    ctn_bell_listen(&bells[2]);
    ctn_bell_ring(&bells[0]);
    ck_assert(rung(2));
    ck_assert(!ctn_bell_wanted(&bells[0]));
    bells[1] = (ctn_bell_t){.fd = -1};
}
END_TEST

/** The name is taken: naps are short then; it can ring others, though. */
START_TEST(without_a_name_it_does_not_hear)
{
    static const ctn_log_t quiet = {.level = CTN_LOG_FATAL};
    ctn_bell_t second;
    ctn_bell_open(&second, &quiet, heap, 1, RANKS);
    ck_assert(!ctn_bell_hears(&second));
    ctn_bell_listen(&bells[2]);
    ctn_bell_ring(&second);
    ck_assert(rung(2));
    ctn_bell_close(&second);
    ctn_bell_open(&second, &quiet, heap, 0, 1); /* alone: nobody to hear */
    ck_assert(!ctn_bell_wanted(&second));
    ck_assert(ctn_bell_hears(&second));
}
END_TEST

START_TEST(wakes_another_process)
{
    ctn_transport_t *shm = ctn_shm_create(0, NULL, NULL);
    ck_assert_ptr_nonnull(shm);
    ck_assert(!shm->ops->sleep(shm, 1000, bells[1].fd)); /* the time is over */
    ctn_bell_listen(&bells[1]);
    pid_t child = fork();
    if (child == 0) {
        usleep(100000);
        ctn_bell_ring(&bells[0]);
        _exit(0);
    }
    ck_assert(shm->ops->sleep(shm, LONG_NS, bells[1].fd));
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    shm->ops->destroy(shm);
}
END_TEST

/* --- how long --- */

static const struct {
    ctn_wait_t wait;
    bool crowded;
    size_t spin, sleep_ms;
    ctn_waiting_t expected; /* the longest nap aside */
} ways[] = {
    {CTN_WAIT_AUTO,
     false,
     CTN_CONFIG_AUTO,
     CTN_CONFIG_AUTO,
     {.looks = 64, .spin = 20000, .sleep_ns = 20000000}},
    {CTN_WAIT_AUTO,
     true,
     CTN_CONFIG_AUTO,
     CTN_CONFIG_AUTO,
     {.looks = 1, .spin = 0, .sleep_ns = 20000000}},
    {CTN_WAIT_SPIN,
     false,
     CTN_CONFIG_AUTO,
     CTN_CONFIG_AUTO,
     {.looks = 64, .spin = UINT32_MAX, .sleep_ns = UINT64_MAX}},
    {CTN_WAIT_SPIN,
     true,
     CTN_CONFIG_AUTO,
     CTN_CONFIG_AUTO,
     {.looks = 64, .spin = UINT32_MAX, .sleep_ns = UINT64_MAX}},
    {CTN_WAIT_YIELD,
     false,
     CTN_CONFIG_AUTO,
     CTN_CONFIG_AUTO,
     {.looks = 64, .spin = 20000, .sleep_ns = UINT64_MAX}},
    {CTN_WAIT_YIELD,
     true,
     CTN_CONFIG_AUTO,
     CTN_CONFIG_AUTO,
     {.looks = 1, .spin = 0, .sleep_ns = UINT64_MAX}},
    {CTN_WAIT_SLEEP,
     false,
     CTN_CONFIG_AUTO,
     CTN_CONFIG_AUTO,
     {.looks = 64, .spin = 1000, .sleep_ns = 0}},
    {CTN_WAIT_SLEEP,
     true,
     CTN_CONFIG_AUTO,
     CTN_CONFIG_AUTO,
     {.looks = 1, .spin = 0, .sleep_ns = 0}},
    /* What is said in numbers wins. */
    {CTN_WAIT_SPIN, true, 7, 3, {.looks = 1, .spin = 7, .sleep_ns = 3000000}},
    {CTN_WAIT_SLEEP,
     false,
     CTN_CONFIG_INF,
     CTN_CONFIG_INF,
     {.looks = 64, .spin = UINT32_MAX, .sleep_ns = UINT64_MAX}},
};

START_TEST(settings_decide)
{
    ctn_config_t config = {.wait = ways[_i].wait,
                           .spin = ways[_i].spin,
                           .sleep_ms = ways[_i].sleep_ms};
    ctn_exec_t exec = {.crowded = ways[_i].crowded, .bell = bells[0]};
    ctn_exec_decide_waiting(&exec, &config);
    ck_assert_uint_eq(exec.waiting.looks, ways[_i].expected.looks);
    ck_assert_uint_eq(exec.waiting.spin, ways[_i].expected.spin);
    ck_assert(exec.waiting.sleep_ns == ways[_i].expected.sleep_ns);
}
END_TEST

START_TEST(naps_are_short_where_nothing_wakes)
{
    const ctn_config_t config = {.spin = CTN_CONFIG_AUTO,
                                 .sleep_ms = CTN_CONFIG_AUTO};
    ctn_transport_t network = {.caps = CTN_CAP_SLEEP};
    ctn_exec_t exec = {.bell = bells[0], .network = &network};
    ctn_exec_decide_waiting(&exec, &config);
    uint64_t most = exec.waiting.nap_ns;
    network.caps = 0;
    ctn_exec_decide_waiting(&exec, &config);
    ck_assert_uint_lt(exec.waiting.nap_ns, most);
    network.caps = CTN_CAP_SLEEP | CTN_CAP_RDMA;
    ctn_exec_decide_waiting(&exec, &config);
    ck_assert_uint_lt(exec.waiting.nap_ns, most);
    exec.network = NULL;
    ctn_exec_decide_waiting(&exec, &config);
    ck_assert_uint_eq(exec.waiting.nap_ns, most);
    exec.bell.named = false;
    ctn_exec_decide_waiting(&exec, &config);
    ck_assert_uint_lt(exec.waiting.nap_ns, most);
}
END_TEST

static void add_cases(TCase *tcase)
{
    tcase_add_checked_fixture(tcase, open_bells, close_bells);
    tcase_add_test(tcase, rings_those_who_listen_once);
    tcase_add_test(tcase, rings_nobody_who_does_not_listen);
    tcase_add_test(tcase, the_dead_hurt_nobody);
    tcase_add_test(tcase, without_a_name_it_does_not_hear);
    tcase_add_test(tcase, wakes_another_process);
    tcase_add_loop_test(tcase, settings_decide, 0,
                        (int)(sizeof(ways) / sizeof(ways[0])));
    tcase_add_test(tcase, naps_are_short_where_nothing_wakes);
}

int main(void)
{
    return unit_main("waiting", 60, add_cases);
}
