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
    CLOCK_EVERY = 64, /* yields between two looks at the clock */
    SHORT_SPIN = 100  /* polls on a crowded host, when told to look again */
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

uint32_t ctn_exec_cpu(const ctn_exec_t *exec)
{
    return exec->virtual_time ? 0 : (uint32_t)sched_getcpu() + 1;
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
    }
}

void ctn_exec_idle(ctn_exec_t *exec, ctn_patience_t *patience)
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
