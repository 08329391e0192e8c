#ifndef CTN_EXEC_YIELD_H
#define CTN_EXEC_YIELD_H

#include <sched.h>
#include <sys/syscall.h>

/** Yield the core to another rank (sched_yield). With more than a few ranks on
 * a core each rank finds an empty TLB and cold caches whenever it runs again.
 * So this is the bare system call: the C library's function would touch three
 * more pages. */
static inline void ctn_yield_core(void)
{
#if defined(__x86_64__) && defined(__linux__) && defined(__LP64__)
    long result = SYS_sched_yield;
    __asm__ volatile("syscall" : "+a"(result) : : "rcx", "r11", "memory");
#else
    sched_yield();
#endif
}

#endif
