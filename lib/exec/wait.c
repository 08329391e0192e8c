#include <sched.h>
#include <time.h>

#include "exec/exec.h"

/* Waiting. Where each rank has a core of its own, spinning is cheapest. With
 * more ranks than cores the rank that everybody waits for may not be running,
 * so the core is given away at the first miss (measured with 16 ranks on 2
 * cores: 11 us per barrier when yielding at once, 24 after 100 pauses, 209
 * after 2,000 and a futex). After a long wait the rank sleeps in short naps
 * that network traffic ends early. */

enum {
    CLOCK_EVERY = 64,   /* yields between two looks at the clock */
    LONG_ASTRAY = 1000, /* some milliseconds of small operations */
    SHORT_SPIN = 100    /* polls on a crowded host, when told to look again */
};

static const uint64_t NAP_NS = 1000000;

/* What a look at requests that are not complete takes in virtual time. */
static const uint64_t LOOK_NS = 100;

static uint64_t wall_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t ctn_exec_time(ctn_exec_t *exec)
{
    return exec->local->ops->time != NULL ? exec->local->ops->time(exec->local)
                                          : wall_clock();
}

/** Move there, and leave it to the kernel what happens next. */
static void go_home(const ctn_exec_t *exec)
{
    cpu_set_t allowed;
    cpu_set_t home;
    if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0 ||
        !CPU_ISSET(exec->home - 1, &allowed)) {
        return;
    }
    CPU_ZERO(&home);
    CPU_SET(exec->home - 1, &home);
    (void)sched_setaffinity(0, sizeof(home), &home);
    (void)sched_setaffinity(0, sizeof(allowed), &allowed);
}

void ctn_exec_spread(ctn_exec_t *exec, uint32_t index)
{
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0 ||
        CPU_COUNT(&allowed) < 2) {
        return;
    }
    uint32_t skip = index % (uint32_t)CPU_COUNT(&allowed);
    for (uint32_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &allowed) && skip-- == 0) {
            exec->home = cpu + 1;
            go_home(exec);
            return;
        }
    }
}

CTN_HOT uint32_t ctn_exec_cpu(ctn_exec_t *exec)
{
    if (exec->virtual_time) {
        return 0;
    }
    uint32_t cpu = (uint32_t)sched_getcpu() + 1;
    if (cpu == exec->home || exec->home == 0) {
        exec->astray = 0;
    } else if (++exec->astray >= LONG_ASTRAY) {
        exec->astray = 0;
        go_home(exec);
    }
    return cpu;
}

static void nap(ctn_exec_t *exec)
{
    if (exec->network != NULL && (exec->network->caps & CTN_CAP_SLEEP) != 0) {
        exec->network->ops->sleep(exec->network, NAP_NS);
        return;
    }
    struct timespec pause = {0, (long)(NAP_NS / 4)};
    nanosleep(&pause, NULL);
}

void ctn_exec_pass_time(ctn_exec_t *exec)
{
    if (exec->virtual_time) {
        exec->local->ops->sleep(exec->local, LOOK_NS);
    } else if (exec->crowded) {
        sched_yield();
    }
}

CTN_HOT void ctn_exec_idle(ctn_exec_t *exec, ctn_patience_t *patience)
{
    if (exec->virtual_time) {
        exec->local->ops->sleep(exec->local, UINT64_MAX);
        return;
    }
    uint32_t misses = ++patience->misses;
    uint32_t spin = exec->waiting.spin;
    if (exec->look_again && spin < SHORT_SPIN) {
        spin = SHORT_SPIN;
    }
    if (misses <= spin) {
        ctn_pause();
        return;
    }
    if (misses % CLOCK_EVERY == 0 && exec->waiting.sleep_ns != UINT64_MAX) {
        uint64_t now = wall_clock();
        if (patience->since_ns == 0) {
            patience->since_ns = now;
        } else if (now - patience->since_ns > exec->waiting.sleep_ns) {
            patience->misses--; /* look at the clock next time, too */
            nap(exec);
            return;
        }
    }
    sched_yield();
}
