#include <poll.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/config.h"
#include "exec/exec.h"
#include "transports/shm/shm.h"

#include "unit/unit.h"

/* Waiting. The ranks of a node may be one process in a test of doorbells, since
 * their state is in the heap. */

enum { RANKS = 3 };

static const uint64_t LONG_NS = UINT64_C(20000000000);

static ctn_heap_t *heap;
static ctn_doorbell_t doorbells[RANKS];

static void open_doorbells(void)
{
    static const ctn_log_t quiet = {.level = CATENA_LOG_FATAL};
    ctn_heap_params_t params = {.log = &quiet,
                                .limit = (size_t)16 << 20,
                                .local_size = RANKS,
                                .numa = -1};
    char name[64];
    ck_assert_int_eq(ctn_heap_create(&params, &heap, name), CATENA_OK);
    for (uint32_t i = 0; i < RANKS; i++) {
        ctn_doorbell_open(&doorbells[i], &quiet, heap, i, RANKS);
        ck_assert(ctn_doorbell_reliable(&doorbells[i]));
        ck_assert(doorbells[i].named);
    }
}

static void close_doorbells(void)
{
    for (uint32_t i = 0; i < RANKS; i++) {
        ctn_doorbell_close(&doorbells[i]);
    }
    ctn_heap_destroy(heap);
}

static bool rung(uint32_t rank)
{
    struct pollfd event = {.fd = doorbells[rank].fd, .events = POLLIN};
    return poll(&event, 1, 0) == 1;
}

START_TEST(a_ring_wakes_an_armed_rank_once)
{
    ck_assert(!ctn_doorbell_needed(&doorbells[0]));
    ctn_doorbell_arm(&doorbells[1]);
    ck_assert(ctn_doorbell_needed(&doorbells[0]));
    ctn_doorbell_ring(&doorbells[0]);
    ck_assert(!ctn_doorbell_needed(&doorbells[0]));
    ck_assert(rung(1));
    ck_assert(!rung(2));
    ctn_doorbell_arm(&doorbells[1]);
    ck_assert(!rung(1)); /* earlier rings are discarded */
    ctn_doorbell_arm(&doorbells[2]);
    ctn_doorbell_ring(&doorbells[0]);
    ctn_doorbell_ring(&doorbells[0]);
    ck_assert(rung(1));
    ck_assert(rung(2));
    ck_assert(!rung(0));
}
END_TEST

START_TEST(a_ring_wakes_no_unarmed_rank)
{
    ctn_doorbell_ring(&doorbells[0]);
    ctn_doorbell_arm(&doorbells[0]);
    ctn_doorbell_ring(&doorbells[0]); /* rings no rank: it is awake */
    for (uint32_t i = 0; i < RANKS; i++) {
        ck_assert(!rung(i));
    }
}
END_TEST

/** The state that a killed rank leaves: its flag set, its socket gone. */
START_TEST(the_dead_hurt_nobody)
{
    ctn_doorbell_arm(&doorbells[1]);
    close(doorbells[1].fd);
    ctn_doorbell_arm(&doorbells[2]);
    ctn_doorbell_ring(&doorbells[0]);
    ck_assert(rung(2));
    ck_assert(!ctn_doorbell_needed(&doorbells[0]));
    doorbells[1] = (ctn_doorbell_t){.fd = -1};
}
END_TEST

/** The name is taken: sleeps are short then, but it can ring others. */
START_TEST(without_a_name_it_is_not_reliable)
{
    static const ctn_log_t quiet = {.level = CATENA_LOG_FATAL};
    ctn_doorbell_t second;
    ctn_doorbell_open(&second, &quiet, heap, 1, RANKS);
    ck_assert(!ctn_doorbell_reliable(&second));
    ctn_doorbell_arm(&doorbells[2]);
    ctn_doorbell_ring(&second);
    ck_assert(rung(2));
    ctn_doorbell_close(&second);
    ctn_doorbell_open(&second, &quiet, heap, 0, 1); /* the only rank */
    ck_assert(!ctn_doorbell_needed(&second));
    ck_assert(ctn_doorbell_reliable(&second));
}
END_TEST

START_TEST(wakes_another_process)
{
    ctn_transport_t *shm = ctn_shm_create(0, NULL, NULL);
    ck_assert_ptr_nonnull(shm);
    ck_assert(!shm->ops->sleep(shm, 1000, doorbells[1].fd)); /* timeout */
    ctn_doorbell_arm(&doorbells[1]);
    pid_t child = fork();
    if (child == 0) {
        ctn_doorbell_ring(&doorbells[0]);
        _exit(0);
    }
    ck_assert(shm->ops->sleep(shm, LONG_NS, doorbells[1].fd));
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    shm->ops->destroy(shm);
}
END_TEST

/* ---- how long, by a clock that the test moves ---- */

enum { TICK_NS = 500, CLOCK_EVERY = 64, MAX_SLEEPS = 64 };

static const uint64_t never = UINT64_MAX, start_ns = 1000;
static const uint64_t min_sleep_ns = 50000, disarmed_sleep_ns = 20000000;

/** A rank that waits: each poll takes a tick, each sleep its time. */
typedef struct rig {
    ctn_transport_t local; /* first: its clock, sleep and yield */
    ctn_exec_t exec;
    ctn_backoff_t backoff;
    uint64_t now, loads, yields;
    uint64_t first_yield; /* number of polls */
    bool is_rung;         /* it is rung in each sleep with an armed doorbell */
    unsigned sleep_count;
    struct {
        uint64_t at, ns;
        int fd;
    } slept[MAX_SLEEPS];
} rig_t;

static rig_t rig;

static uint64_t rig_time(ctn_transport_t *local)
{
    ck_assert_ptr_eq(local, &rig.local);
    return rig.now;
}

static bool rig_sleep(ctn_transport_t *local, uint64_t ns, int fd)
{
    ck_assert_ptr_eq(local, &rig.local);
    if (rig.sleep_count < MAX_SLEEPS) {
        rig.slept[rig.sleep_count].at = rig.now;
        rig.slept[rig.sleep_count].ns = ns;
        rig.slept[rig.sleep_count++].fd = fd;
    }
    rig.now += rig.is_rung && fd >= 0 ? 1 : ns;
    return rig.is_rung && fd >= 0;
}

static void rig_yield(ctn_exec_t *exec)
{
    ck_assert_ptr_eq(exec, &rig.exec);
    rig.first_yield = rig.yields++ == 0 ? rig.loads : rig.first_yield;
}

static void rig_open(const ctn_exec_config_t *config, bool oversubscribed)
{
    static const ctn_transport_ops_t ops = {.time = rig_time,
                                            .sleep = rig_sleep};
    rig = (rig_t){.local = {.ops = &ops}, .now = start_ns};
    rig.exec = (ctn_exec_t){.local = &rig.local,
                            .oversubscribed = oversubscribed,
                            .doorbell = doorbells[0]};
    ctn_exec_set_wait_policy(&rig.exec, config);
    rig.exec.wait_policy.yield = rig_yield;
}

/** Poll without success for so many ticks, or until it has slept enough. */
static void rig_wait(uint64_t ticks)
{
    for (uint64_t i = 0; i < ticks && rig.sleep_count < MAX_SLEEPS; i++) {
        rig.loads++;
        rig.now += TICK_NS;
        ctn_exec_idle(&rig.exec, &rig.backoff);
    }
}

#define NUMBERS CTN_CONFIG_AUTO, CTN_CONFIG_AUTO

static const struct policy {
    ctn_wait_t wait;
    bool oversubscribed;
    size_t spin_setting, sleep_setting; /* CATENA_SPIN, CATENA_SLEEP in ms */
    uint32_t loads, spin;
    uint64_t sleep_after_ns;
} policies[] = {
    {CTN_WAIT_AUTO, false, NUMBERS, 64, 20000, 20000000},
    {CTN_WAIT_AUTO, true, NUMBERS, 1, 0, 20000000},
    {CTN_WAIT_SPIN, false, NUMBERS, 64, UINT32_MAX, never},
    {CTN_WAIT_SPIN, true, NUMBERS, 64, UINT32_MAX, never},
    {CTN_WAIT_YIELD, false, NUMBERS, 64, 20000, never},
    {CTN_WAIT_YIELD, true, NUMBERS, 1, 0, never},
    {CTN_WAIT_SLEEP, false, NUMBERS, 64, 1000, 0},
    {CTN_WAIT_SLEEP, true, NUMBERS, 1, 0, 0},
    /* Numbers take precedence. */
    {CTN_WAIT_SPIN, true, 7, 3, 1, 7, 3000000},
    {CTN_WAIT_AUTO, false, 500, CTN_CONFIG_AUTO, 64, 500, 20000000},
    {CTN_WAIT_AUTO, true, CTN_CONFIG_AUTO, 0, 1, 0, 0},
    {CTN_WAIT_SLEEP, false, CTN_CONFIG_INF, CTN_CONFIG_INF, 64, UINT32_MAX,
     never},
    {CTN_WAIT_AUTO, true, 0, SIZE_MAX / 1000000, 1, 0, never},
};

/** It spins, then yields, and sleeps after the time. */
START_TEST(settings_decide)
{
    const struct policy *policy = &policies[_i];
    ctn_exec_config_t config = {.wait = policy->wait,
                                .spin = policy->spin_setting,
                                .sleep_ms = policy->sleep_setting};
    rig_open(&config, policy->oversubscribed);
    ck_assert_uint_eq(rig.exec.wait_policy.loads, policy->loads);
    ck_assert_uint_eq(rig.exec.wait_policy.spin, policy->spin);
    ck_assert(rig.exec.wait_policy.sleep_after_ns == policy->sleep_after_ns);
    rig_wait(100000);
    if (policy->spin == UINT32_MAX) {
        ck_assert_uint_eq(rig.yields, 0);
    } else {
        ck_assert_uint_eq(rig.first_yield, policy->spin + 1);
    }
    if (policy->sleep_after_ns > start_ns + rig.now) {
        ck_assert_uint_eq(rig.sleep_count, 0);
        return;
    }
    /* The wait counts from the first read of the clock, which is not read while
     * it spins. */
    uint64_t first = (policy->spin / CLOCK_EVERY + 1) * CLOCK_EVERY * TICK_NS;
    uint64_t asleep = start_ns + first + policy->sleep_after_ns;
    ck_assert_uint_gt(rig.sleep_count, 0);
    ck_assert_uint_gt(rig.slept[0].at, asleep);
    ck_assert_uint_le(rig.slept[0].at, asleep + (CLOCK_EVERY + 1) * TICK_NS);
}
END_TEST

static const ctn_exec_config_t sleeps = {.wait = CTN_WAIT_SLEEP,
                                         .spin = CTN_CONFIG_AUTO,
                                         .sleep_ms = CTN_CONFIG_AUTO};

/** A sleep is as long as the wait before, so it at most doubles the wait; at
 * least 50 us, and at most 100 ms if all ranks can wake it. */
START_TEST(sleeps_double_the_wait)
{
    rig_open(&sleeps, true);
    rig_wait(never);
    uint64_t since = start_ns + CLOCK_EVERY * TICK_NS;
    for (unsigned i = 0; i < MAX_SLEEPS; i++) {
        uint64_t waited = rig.slept[i].at - since;
        uint64_t ns = waited < min_sleep_ns ? min_sleep_ns : waited;
        ck_assert_uint_eq(rig.slept[i].ns,
                          ns < 100000000 ? ns : UINT64_C(100000000));
        ck_assert_int_eq(rig.slept[i].fd, doorbells[0].fd);
        /* Before each sleep it arms the doorbell, and polls once more. */
        ck_assert_uint_eq(
            rig.slept[i].at -
                (i > 0 ? rig.slept[i - 1].at + rig.slept[i - 1].ns : since),
            (i > 0 ? 2 : CLOCK_EVERY + 1) * TICK_NS);
    }
    ck_assert_uint_eq(rig.slept[MAX_SLEEPS - 1].ns, 100000000);
}
END_TEST

START_TEST(it_arms_before_it_sleeps)
{
    rig_open(&sleeps, true);
    rig_wait(2 * CLOCK_EVERY - 1);
    ck_assert(!ctn_doorbell_needed(&doorbells[1]));
    rig_wait(1);
    ck_assert(ctn_doorbell_needed(&doorbells[1]) && rig.sleep_count == 0);
    rig_wait(1);
    ck_assert_uint_eq(rig.sleep_count, 1);
}
END_TEST

/** After five useless rings it sleeps once with its doorbell off, for a short
 * time, and then arms it again. */
START_TEST(disarmed_after_useless_wakeups)
{
    rig_open(&sleeps, true);
    rig_wait(2 * CLOCK_EVERY);
    rig.now += UINT64_C(1000000000);
    rig.is_rung = true;
    rig_wait(never);
    for (unsigned i = 0; i < MAX_SLEEPS; i++) {
        bool disarmed = i % 6 == 5;
        ck_assert_int_eq(rig.slept[i].fd, disarmed ? -1 : doorbells[0].fd);
        ck_assert_uint_eq(rig.slept[i].ns,
                          disarmed ? disarmed_sleep_ns : 100000000);
    }
}
END_TEST

/** Of a rank that never yields its core, with flags that others set. */
static void rig_open_spinning(ctn_exec_flags_t *flags)
{
    rig_open(&(ctn_exec_config_t){.wait = CTN_WAIT_SPIN,
                                  .spin = CTN_CONFIG_AUTO,
                                  .sleep_ms = CTN_CONFIG_AUTO},
             false);
    rig.exec.flags = flags;
}

/** The abort flag of another rank is seen while this rank spins, too. */
START_TEST(the_abort_flag_is_polled)
{
    ctn_exec_flags_t flags = {0};
    rig_open_spinning(&flags);
    rig_wait(3 * CLOCK_EVERY);
    ck_assert_int_eq(rig.exec.status, CATENA_OK);
    flags.abort = (uint64_t)-CATENA_ERR_PEER;
    rig_wait(CLOCK_EVERY - 1);
    ck_assert_int_eq(rig.exec.status, CATENA_OK);
    rig_wait(1);
    ck_assert_int_eq(rig.exec.status, CATENA_ERR_PEER);
}
END_TEST

/** A report of a hang is heard once; older ones are ignored. */
START_TEST(a_hang_is_heard_once)
{
    ctn_exec_flags_t flags = {0};
    rig_open_spinning(&flags);
    static const uint32_t numbers[][2] = {{1, 1},
                                          {1, 1},
                                          {3, 3},
                                          {2, 3},
                                          {0x80000004, 3},
                                          {0x7fffffff, 0x7fffffff},
                                          {0x80000001, 0x80000001}};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        flags.hang = (uint64_t)numbers[i][0] << 32 | 7;
        rig_wait(CLOCK_EVERY);
        ck_assert_uint_eq(rig.exec.hangs, numbers[i][1]);
    }
    ck_assert_int_eq(rig.exec.status, CATENA_OK);
}
END_TEST

/** A phase may ask to spin where the rank would yield its core. */
START_TEST(spins_when_asked)
{
    rig_open(&sleeps, true);
    rig.exec.spin_polls = 40;
    rig_wait(41);
    ck_assert_uint_eq(rig.first_yield, 41);
}
END_TEST

/** A caller that does not wait yields its core on an oversubscribed host. */
START_TEST(passing_time_yields)
{
    ctn_exec_config_t config = sleeps;
    for (int oversubscribed = 0; oversubscribed < 2; oversubscribed++) {
        rig_open(&config, oversubscribed != 0);
        ctn_exec_pass_time(&rig.exec);
        ck_assert_uint_eq(rig.yields, oversubscribed);
    }
    config.wait = CTN_WAIT_SPIN;
    rig_open(&config, true);
    ctn_exec_pass_time(&rig.exec);
    ck_assert_uint_eq(rig.yields, 0);
}
END_TEST

/** A network that writes by itself, or a doorbell that cannot be rung, wakes no
 * rank. */
START_TEST(sleeps_are_short_where_nothing_wakes)
{
    static const struct {
        unsigned caps;
        bool network, named, wakes;
    } cases[] = {{0, false, true, true},
                 {CTN_CAP_SLEEP, true, true, true},
                 {0, true, true, false},
                 {CTN_CAP_SLEEP | CTN_CAP_RDMA, true, true, false},
                 {0, false, false, false}};
    rig_open(&sleeps, true);
    ctn_transport_t network = {.ops = rig.local.ops, .caps = cases[_i].caps};
    rig.exec.network = cases[_i].network ? &network : NULL;
    rig.exec.doorbell.named = cases[_i].named;
    ctn_exec_set_wait_policy(&rig.exec, &sleeps);
    ck_assert_uint_eq(rig.exec.wait_policy.longest_sleep_ns,
                      cases[_i].wakes ? 100000000 : 1000000);
}
END_TEST

static unsigned asked; /* how often a background operation was */

static bool is_not_ready(const ctn_op_t *op)
{
    (void)op;
    asked++;
    return false;
}

/** However many operations are in the background, a rank that adds one asks few
 * of them, and later each of the others. */
START_TEST(background_is_polled_in_parts)
{
    enum { MANY = 500, FEW = 40 };
    static const ctn_phase_t phases[] = {{NULL, NULL}};
    static const ctn_algorithm_t algorithm = {
        .name = "idle", .phases = phases, .ready = is_not_ready};
    static ctn_sequence_t sequence[MANY];
    rig_open(&sleeps, true);
    for (int i = 0; i < MANY; i++) {
        ctn_sequence_set(&sequence[i], NULL, 2, 1);
        ctn_op_t *op = ctn_op_create(&rig.exec, &algorithm, &sequence[i]);
        ck_assert_ptr_nonnull(op);
        asked = 0;
        ctn_op_start_background(op, true);
        ck_assert_uint_ge(asked, 1);
        ck_assert_uint_le(asked, FEW);
    }
    asked = 0;
    for (int i = 0; i < MANY; i++) {
        (void)ctn_exec_poll(&rig.exec);
    }
    ck_assert_uint_ge(asked, MANY);
    ck_assert_uint_le(asked, MANY * FEW);
    asked = 0;
    (void)ctn_exec_poll_background(&rig.exec);
    ck_assert_uint_eq(asked, MANY);
    ctn_pool_drop(&rig.exec.pool);
}
END_TEST

/** With the doorbell or without, a rank polls all before it sleeps. */
START_TEST(background_is_polled_before_a_sleep)
{
    enum { MANY = 500 };
    static const ctn_phase_t phases[] = {{NULL, NULL}};
    static const ctn_algorithm_t algorithm = {
        .name = "idle", .phases = phases, .ready = is_not_ready};
    static ctn_sequence_t sequence[MANY];
    rig_open(&sleeps, true);
    rig.exec.doorbell.named = _i == 0;
    for (int i = 0; i < MANY; i++) {
        ctn_sequence_set(&sequence[i], NULL, 2, 1);
        ctn_op_t *op = ctn_op_create(&rig.exec, &algorithm, &sequence[i]);
        ck_assert_ptr_nonnull(op);
        ctn_op_start_background(op, true);
    }
    asked = 0;
    rig_wait(never);
    ck_assert_uint_eq(rig.sleep_count, MAX_SLEEPS);
    ck_assert_uint_ge(asked, MAX_SLEEPS * MANY);
    ctn_pool_drop(&rig.exec.pool);
}
END_TEST

static void add_cases(TCase *tcase)
{
    tcase_add_checked_fixture(tcase, open_doorbells, close_doorbells);
    tcase_add_test(tcase, a_ring_wakes_an_armed_rank_once);
    tcase_add_test(tcase, a_ring_wakes_no_unarmed_rank);
    tcase_add_test(tcase, the_dead_hurt_nobody);
    tcase_add_test(tcase, without_a_name_it_is_not_reliable);
    tcase_add_test(tcase, wakes_another_process);
    tcase_add_loop_test(tcase, settings_decide, 0,
                        (int)(sizeof(policies) / sizeof(policies[0])));
    tcase_add_test(tcase, sleeps_double_the_wait);
    tcase_add_test(tcase, it_arms_before_it_sleeps);
    tcase_add_test(tcase, disarmed_after_useless_wakeups);
    tcase_add_test(tcase, the_abort_flag_is_polled);
    tcase_add_test(tcase, a_hang_is_heard_once);
    tcase_add_test(tcase, spins_when_asked);
    tcase_add_test(tcase, passing_time_yields);
    tcase_add_test(tcase, background_is_polled_in_parts);
    tcase_add_loop_test(tcase, background_is_polled_before_a_sleep, 0, 2);
    tcase_add_loop_test(tcase, sleeps_are_short_where_nothing_wakes, 0, 5);
}

UNIT_TEST(wait)
{
    return unit_main("waiting", 60, add_cases);
}
