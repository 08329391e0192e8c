#ifndef CTN_SIM_FIBER_H
#define CTN_SIM_FIBER_H

#include <stddef.h>

/* Fibers: the ranks of a simulated job, each with a stack of its own, one
 * running at a time. The switch saves what the calling convention says a
 * function keeps; swapcontext would make a system call for the signal mask
 * (0.32 us there and back, measured, where this takes a tenth). */

typedef struct ctn_fiber {
    void *stack_pointer; /* while it does not run */
    unsigned char *stack;
    size_t stack_bytes;
    void *fake_stack; /* AddressSanitizer's */
} ctn_fiber_t;

/** Prepare a fiber, on a stack that is all zero, that begins with
 * entry(argument), which must not return, when it is first switched to. */
void ctn_fiber_make(ctn_fiber_t *fiber, void *stack, size_t stack_bytes,
                    void (*entry)(void *argument), void *argument);

/** Save the running one in `from` and go on with `to`.
 * @param last `from` ends here and never runs again */
void ctn_fiber_switch(ctn_fiber_t *from, ctn_fiber_t *to, int last);

/** To be called first by the entry function; `from` is what it was switched
 * to from (its stack becomes known here when it is the thread's own). */
void ctn_fiber_begin(ctn_fiber_t *self, ctn_fiber_t *from);

/** Whether the stack has come to its end: the last KiB, zero at first, is not
 * zero any more. There is no room for guard pages: the number of mappings
 * is limited. */
int ctn_fiber_overflowed(const ctn_fiber_t *fiber);

#endif
