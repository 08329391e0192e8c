#include <sched.h>
#include <time.h>

#include "core/clock.h"
#include "exec/deaths.h"
#include "exec/observe.h"
#include "exec/yield.h"

/* Waiting. Where each rank has a core of its own, spinning is cheapest. With
 * more ranks than cores the awaited rank may not be running, so a rank yields
 * its core after the first poll that finds nothing (16 ranks on 2 cores: 11 us
 * per barrier when yielding at once, 24 us after 100 pauses, 209 us after 2,000
 * pauses and a futex). After a long wait a rank sleeps. Doorbells
 * (exec/doorbell.h) and network traffic wake it. A poll that finds nothing is
 * called a miss. */

enum {
    LONG_SPIN = 20000,    /* misses before a yield, with a core for each rank */
    SOON_SPIN = 1000,     /* the same for CATENA_WAIT=sleep */
    FIRST_LOADS = 64,     /* of a word before a wait: some microseconds */
    USELESS_WAKEUPS = 4,  /* then one sleep with the doorbell disarmed */
    CLOCK_EVERY = 64,     /* misses between reads of clock and flags */
    NOTE_EVERY = 1024,    /* misses between reads of the clock of a rank that
                             does not sleep; the same of ctn_exec_progress */
    OTHER_EVERY = 8,      /* misses between calls of another library */
    CHECK_EVERY = 1 << 14 /* misses between checks of peers */
};

/* CATENA_WAIT=auto sleeps after so much waiting. */
static const uint64_t SLEEP_AFTER_NS = 20000000;
/* The shortest and the longest sleep, and the longest without a doorbell after
 * useless wakeups. */
static const uint64_t MIN_SLEEP_NS = 50000;
static const uint64_t MAX_SLEEP_NS = 100000000;
static const uint64_t DISARMED_SLEEP_NS = 20000000;
/* The longest sleep where an event may fail to wake this rank: because it has
 * no doorbell, or because the network (RDMA) stores without this process. */
static const uint64_t SHORT_SLEEP_NS = 1000000;

/* Virtual time that passes at each test of incomplete requests. */
static const uint64_t POLL_NS = 100;
/* A rank that has waited longer checks its peers before each sleep. */
static const uint64_t CHECK_NS = 20000000;

/* In the order of ctn_wait_t. */
static const char *const wait_words[] = {"auto", "spin", "yield", "sleep",
                                         NULL};
_Static_assert(CTN_WAIT_SLEEP == 3, "wait_words follows ctn_wait_t");

static const ctn_setting_type_t wait_type = {.kind = CTN_SETTING_WORD,
                                             .words = wait_words};

static const char *const single_copy_words[] = {"off", "auto", NULL};
static const ctn_setting_type_t single_copy_type = {.kind = CTN_SETTING_WORD,
                                                    .words = single_copy_words};

static const char *const progress_words[] = {"calls", "thread", NULL};
static const ctn_setting_type_t progress_type = {.kind = CTN_SETTING_WORD,
                                                 .words = progress_words};

/* In the order of ctn_failures_t. */
static const char *const failures_words[] = {"abort", "return", NULL};
static const ctn_setting_type_t failures_type = {.kind = CTN_SETTING_WORD,
                                                 .words = failures_words};

static const ctn_setting_t settings[] = {
    {"WAIT", "auto",
     "How a rank waits. spin: it keeps its core; yield: it yields the core\n"
     "after a while, but never sleeps; sleep: it sleeps soon. auto: it spins\n"
     "if each rank has a core, then yields, and sleeps after 20 ms. SPIN and\n"
     "SLEEP, if set, take precedence.",
     offsetof(ctn_exec_config_t, wait), &wait_type},
    {"SPIN", "auto",
     "Polls of a waiting rank before it yields its core. inf: never.\n"
     "auto: set by WAIT.",
     offsetof(ctn_exec_config_t, spin), &ctn_setting_number},
    {"SLEEP", "auto",
     "Milliseconds of waiting after which a rank sleeps. inf: never. auto:\n"
     "set by WAIT.",
     offsetof(ctn_exec_config_t, sleep_ms), &ctn_setting_milliseconds},
    {"SINGLE_COPY", "auto",
     "Whether long data from and for memory outside the shared heap are "
     "copied\n"
     "once between ranks of the node (cross-memory attach). auto: where the\n"
     "system allows it; off: they are copied through the shared heap.",
     offsetof(ctn_exec_config_t, single_copy), &single_copy_type},
    {"PROGRESS", "calls",
     "What advances operations in flight. calls: the calls of the rank;\n"
     "thread: also a thread of catena while the rank computes. It needs a\n"
     "core of its own.",
     offsetof(ctn_exec_config_t, progress), &progress_type},
    {"HANG_REPORT", "60000",
     "Milliseconds that a rank waits before it prints what the ranks of its\n"
     "node do (catena-info --job prints it at any time), and lets ranks of\n"
     "other nodes do the same. inf: it does not.",
     offsetof(ctn_exec_config_t, hang_ms), &ctn_setting_milliseconds},
    {"CHECK", "off",
     "Before each call the ranks of a group compare their calls; if these\n"
     "differ, the call fails on all of them. Neighborhoods detect all length\n"
     "mismatches. The same on all ranks.",
     offsetof(ctn_exec_config_t, check), &ctn_setting_on},
    {"FAILURES", "abort",
     "What happens when a rank dies. abort: the job ends. return: calls on a\n"
     "group with a dead rank fail on its other ranks, which may go on\n"
     "(catena_group_shrink). The launcher must not end the job: use prun\n"
     "--continuous, or srun without -K. The same on all ranks.",
     offsetof(ctn_exec_config_t, failures), &failures_type},
    {"STATS", "off",
     "At the end rank 0 prints which collectives were called in which groups:\n"
     "how often, with how many bytes, how much time they took, and how much\n"
     "of it the ranks waited. The same on all ranks.",
     offsetof(ctn_exec_config_t, stats), &ctn_setting_on},
    {"TRACE", "",
     "A file for a trace of all calls, operations and puts, in the format of\n"
     "Chrome's traces (Perfetto shows it). Empty: none.",
     offsetof(ctn_exec_config_t, trace), &ctn_setting_text},
};

const ctn_setting_table_t ctn_exec_settings =
    CTN_SETTING_TABLE(settings, ctn_exec_config_t);

/** Misses before the core is yielded; UINT32_MAX: never. */
static uint32_t decide_spin(const ctn_exec_config_t *config,
                            bool oversubscribed)
{
    if (config->spin == CTN_CONFIG_AUTO) {
        return config->wait == CTN_WAIT_SPIN    ? UINT32_MAX
               : oversubscribed                 ? 0
               : config->wait == CTN_WAIT_SLEEP ? SOON_SPIN
                                                : LONG_SPIN;
    }
    return config->spin < UINT32_MAX ? (uint32_t)config->spin : UINT32_MAX;
}

/** Nanoseconds of waiting before a sleep; UINT64_MAX: never. */
static uint64_t decide_sleep(const ctn_exec_config_t *config)
{
    if (config->sleep_ms == CTN_CONFIG_AUTO) {
        return config->wait == CTN_WAIT_AUTO    ? SLEEP_AFTER_NS
               : config->wait == CTN_WAIT_SLEEP ? 0
                                                : UINT64_MAX;
    }
    return config->sleep_ms < UINT64_MAX / 1000000u
               ? (uint64_t)config->sleep_ms * 1000000u
               : UINT64_MAX; /* inf */
}

/** Whether everything that arrives from the network wakes this rank. */
static bool network_wakes(const ctn_transport_t *network)
{
    return network == NULL || ((network->caps & CTN_CAP_SLEEP) != 0 &&
                               (network->caps & CTN_CAP_RDMA) == 0);
}

void ctn_exec_set_wait_policy(ctn_exec_t *exec, const ctn_exec_config_t *config)
{
    ctn_wait_policy_t *wait_policy = &exec->wait_policy;
    /* A simulated rank has no core to yield, and sees nothing new before it
     * sleeps. */
    wait_policy->spin = exec->virtual_time
                            ? UINT32_MAX
                            : decide_spin(config, exec->oversubscribed);
    wait_policy->loads = wait_policy->spin >= FIRST_LOADS && !exec->virtual_time
                             ? FIRST_LOADS
                             : 1;
    wait_policy->sleep_after_ns = decide_sleep(config);
    exec->hang_ns = config->hang_ms < UINT64_MAX / 1000000u
                        ? (uint64_t)config->hang_ms * 1000000u
                        : UINT64_MAX;
    wait_policy->longest_sleep_ns = ctn_doorbell_reliable(&exec->doorbell) &&
                                            network_wakes(exec->network) &&
                                            exec->other_progress == NULL
                                        ? MAX_SLEEP_NS
                                        : SHORT_SLEEP_NS;
}

uint64_t ctn_exec_time(ctn_exec_t *exec)
{
    return exec->local->ops->time != NULL ? exec->local->ops->time(exec->local)
                                          : ctn_clock_now_ns();
}

void ctn_exec_initial_placement(uint32_t index)
{
    cpu_set_t allowed;
    cpu_set_t one; /* of the allowed units, by index modulo their number */
    if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0 ||
        CPU_COUNT(&allowed) < 2) {
        return;
    }
    uint32_t skip = index % (uint32_t)CPU_COUNT(&allowed);
    uint32_t cpu = 0;
    while (!CPU_ISSET(cpu, &allowed) || skip-- > 0) {
        cpu++;
    }
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    (void)sched_setaffinity(0, sizeof(one), &one); /* moves this rank */
    (void)sched_setaffinity(0, sizeof(allowed), &allowed);
}

uint32_t ctn_exec_cpu(const ctn_exec_t *exec)
{
    return exec->virtual_time ? 0 : (uint32_t)sched_getcpu() + 1;
}

/** If the doorbell is not armed, arm it: the caller then polls everything once
 * more, and calls this again. If it is armed, sleep, for at most as long as the
 * wait so far (or MIN_SLEEP_NS): if the wakeup is lost, the wait at most
 * doubles. After some useless wakeups a rank sleeps once without a doorbell,
 * since busy ranks would otherwise ring after each of their stores. */
static void sleep_or_arm(ctn_exec_t *exec, ctn_backoff_t *backoff,
                         uint64_t waited_ns)
{
    bool disarmed = backoff->wakeups > USELESS_WAKEUPS;
    if (exec->doorbell.named && !disarmed && !backoff->armed) {
        ctn_doorbell_arm(&exec->doorbell);
        backoff->armed = true;
        return;
    }
    /* The caller has polled only some of the background operations. */
    if (exec->background != NULL && ctn_exec_poll_background(exec)) {
        *backoff = (ctn_backoff_t){0};
        return;
    }
    uint64_t longest = exec->wait_policy.longest_sleep_ns;
    if (disarmed && longest > DISARMED_SLEEP_NS) {
        longest = DISARMED_SLEEP_NS;
    }
    uint64_t ns = waited_ns < MIN_SLEEP_NS ? MIN_SLEEP_NS : waited_ns;
    ctn_transport_t *transport =
        exec->network != NULL && (exec->network->caps & CTN_CAP_SLEEP) != 0
            ? exec->network
            : exec->local;
    bool rung = transport->ops->sleep(transport, ns < longest ? ns : longest,
                                      backoff->armed ? exec->doorbell.fd : -1);
    backoff->wakeups = rung ? backoff->wakeups + 1 : 0;
    backoff->armed = false;
}

static inline void yield_core(ctn_exec_t *exec)
{
    if (exec->wait_policy.yield != NULL) {
        exec->wait_policy.yield(exec);
    } else {
        ctn_yield_core();
    }
}

void ctn_exec_unwatch(ctn_exec_t *exec, const ctn_watch_t *watch)
{
    ctn_watch_t **link = &exec->watches;
    while (*link != watch) {
        link = &(*link)->next;
    }
    *link = watch->next;
}

/** In a long wait: let phases and watches check whether peers run another
 * algorithm. */
CTN_COLD static void check_peers(ctn_exec_t *exec)
{
    exec->peer_checks++;
    ctn_deaths_check(exec);
    for (ctn_watch_t *watch = exec->watches;
         watch != NULL && exec->status == CATENA_OK; watch = watch->next) {
        watch->check(watch);
    }
}

void ctn_exec_pass_time(ctn_exec_t *exec)
{
    if (++exec->passes % CLOCK_EVERY == 0) {
        ctn_exec_check_flags(exec);
        if (exec->passes % CHECK_EVERY == 0) {
            check_peers(exec);
        }
    }
    if (exec->deaths != NULL && !exec->virtual_time) {
        ctn_deaths_check_sometimes(exec, ctn_exec_time(exec));
    }
    if (exec->virtual_time) {
        (void)exec->local->ops->sleep(exec->local, POLL_NS, -1);
    } else if (exec->oversubscribed && exec->wait_policy.spin != UINT32_MAX) {
        yield_core(exec);
    }
}

/** Whether the rank keeps its core after this miss. */
static inline bool spins(const ctn_exec_t *exec, ctn_backoff_t *backoff)
{
    return backoff->misses <= exec->wait_policy.spin ||
           backoff->misses <= exec->spin_polls;
}

/** A wait goes on: note it, and print what the ranks of the node do. */
CTN_COLD static void note_wait(ctn_exec_t *exec, ctn_backoff_t *backoff,
                               uint64_t now)
{
    if (backoff->noted_ns == 0) {
        backoff->noted_ns = now;
    }
    ctn_recorder_waits(exec, backoff->noted_ns, now);
    if (now - backoff->noted_ns > exec->hang_ns) {
        ctn_recorder_report(exec, now, backoff->noted_ns);
    }
}

CTN_COLD void ctn_exec_note_tests(ctn_exec_t *exec)
{
    ctn_tests_t *tests = &exec->tests;
    const ctn_op_t *op = ctn_recorder_oldest(exec);
    if (tests->misses < NOTE_EVERY || op == NULL || exec->virtual_time) {
        return;
    }
    ctn_backoff_t backoff = {.noted_ns = tests->noted_ns};
    if (tests->misses == NOTE_EVERY || tests->op != op ||
        tests->sequence != op->sequence || tests->seq != op->seq) {
        backoff.noted_ns = 0;
        tests->op = op;
        tests->sequence = op->sequence;
        tests->seq = op->seq;
    }
    note_wait(exec, &backoff, ctn_exec_time(exec));
    tests->noted_ns = backoff.noted_ns;
}

/** What is due in every CLOCK_EVERY-th miss: the flags, the peers, the clock, a
 * sleep. True: the rank has slept or armed its doorbell, so the caller
 * polls without a pause. */
CTN_COLD static bool idle_long(ctn_exec_t *exec, ctn_backoff_t *backoff)
{
    ctn_exec_check_flags(exec);
    if (backoff->misses % CHECK_EVERY == 0) {
        check_peers(exec);
    }
    if (spins(exec, backoff) ||
        exec->wait_policy.sleep_after_ns == UINT64_MAX) {
        if (backoff->misses % NOTE_EVERY == 0) {
            note_wait(exec, backoff, ctn_exec_time(exec));
        }
        return false;
    }
    uint64_t now = ctn_exec_time(exec);
    note_wait(exec, backoff, now);
    if (backoff->since_ns == 0) {
        backoff->since_ns = now;
    } else if (now - backoff->since_ns > exec->wait_policy.sleep_after_ns) {
        backoff->misses--; /* read the clock next time, too */
        if (now - backoff->since_ns > CHECK_NS) {
            check_peers(exec);
        }
        sleep_or_arm(exec, backoff, now - backoff->since_ns);
        return true;
    }
    return false;
}

void ctn_exec_idle(ctn_exec_t *exec, ctn_backoff_t *backoff)
{
    if (exec->virtual_time) {
        uint64_t longest = exec->counts_polls ? POLL_NS : UINT64_MAX;
        exec->counts_polls = false;
        uint64_t began = ctn_observe_begins(exec);
        bool stalls = exec->local->ops->sleep(exec->local, longest, -1);
        if (exec->observer != NULL) {
            ctn_observe_slept(exec, ctn_observe_time(exec) - began);
        }
        if (stalls) {
            check_peers(exec); /* no event is left: a rank must act first */
            ctn_recorder_waits(exec, exec->peer_checks, 1);
        }
        return;
    }
    if (exec->observer != NULL) {
        ctn_observe_idle(exec, backoff);
    }
    backoff->misses++;
    if (exec->other_progress != NULL && backoff->misses % OTHER_EVERY == 0) {
        exec->other_progress(exec->other_argument);
    }
    if (backoff->misses % CLOCK_EVERY != 0 || !idle_long(exec, backoff)) {
        if (spins(exec, backoff)) {
            ctn_pause();
        } else {
            yield_core(exec);
        }
    }
    if (exec->observer != NULL) { /* the last sleep is waiting, too */
        ctn_observe_idle(exec, backoff);
    }
}
