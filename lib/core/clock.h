#ifndef CTN_CORE_CLOCK_H
#define CTN_CORE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define CTN_NS_PER_S UINT64_C(1000000000)

/** The time of a clock of the system, in nanoseconds. */
static inline uint64_t ctn_clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * CTN_NS_PER_S + (uint64_t)now.tv_nsec;
}

/** Nanoseconds since an arbitrary moment. Never decreases. */
static inline uint64_t ctn_clock_now_ns(void)
{
    return ctn_clock_ns(CLOCK_MONOTONIC);
}

/** A duration, for functions of the system. */
static inline struct timespec ctn_clock_timespec(uint64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / CTN_NS_PER_S),
                             .tv_nsec = (long)(ns % CTN_NS_PER_S)};
}

#endif
