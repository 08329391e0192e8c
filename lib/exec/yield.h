#ifndef CTN_EXEC_YIELD_H
#define CTN_EXEC_YIELD_H

#include <sched.h>
#include <sys/syscall.h>

/** Let another rank run on this core. With more than a few ranks on a core each
 * finds an empty TLB and cold code whenever it runs again, and the way through
 * the C library is three pages more. */
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
