#ifndef CTN_SIM_FIBER_H
#define CTN_SIM_FIBER_H

#include <stddef.h>

/* Fibers: the ranks of a simulated job, each with its own stack, one running at
 * a time. A switch saves the registers that the calling convention preserves.
 * On processors other than x86-64 and AArch64, and with -Ducontext=true, it is
 * swapcontext, which also makes a system call for the signal mask (0.32 us for
 * a round trip, ten times as long). */

typedef struct ctn_fiber {
    void *stack_pointer;  /* while it does not run */
    unsigned char *stack; /* its lowest address */
    size_t stack_bytes;
#if defined(__SANITIZE_ADDRESS__)
    void *fake_stack; /* of the address sanitizer */
#endif
} ctn_fiber_t;

/** Prepare a fiber on a zeroed stack. The first switch to it calls
 * entry(argument), which must not return. */
void ctn_fiber_make(ctn_fiber_t *fiber, void *stack, size_t stack_bytes,
                    void (*entry)(void *argument), void *argument);

/** Save the running fiber in `from` and continue with `to`.
 * @param last not 0: `from` ends here and never runs again */
void ctn_fiber_switch(ctn_fiber_t *from, ctn_fiber_t *to, int last);

/** The entry function of the fiber `self` calls it first.
 * @param from the fiber that switched to it; if its stack is that of the
 * thread, the stack becomes known here */
void ctn_fiber_begin(ctn_fiber_t *self, ctn_fiber_t *from);

/** Whether the stack overflowed: its last KiB, zeroed at first, is no longer
 * zero. Guard pages are impossible, since the number of mappings is limited. */
int ctn_fiber_overflowed(const ctn_fiber_t *fiber);

#endif
