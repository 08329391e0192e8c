#include "transports/sim/fiber.h"

#include <stdint.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

/* The words at the end of a stack that show an overflow. A function with a
 * larger frame may skip them. */
enum { LAST_WORDS = 128 };

/* ctn_fiber_swap(&save, load): push the preserved registers, store the stack
 * pointer, load the other one, pop, and return there. */
void ctn_fiber_swap(void **save, void *load);

/* first_frame(stack, top, entry, argument): fill in what the first switch finds
 * at the top of a stack: it calls entry(argument). Returns the stack pointer.
 */

#if defined(CTN_FIBER_UCONTEXT) ||                                             \
    !(defined(__x86_64__) || defined(__aarch64__))

/* What the C library has for all processors. "Stack pointers" are those of the
 * contexts, which lie on their stacks. */

#include <ucontext.h>

typedef struct first {
    ucontext_t context;
    void (*entry)(void *argument);
    void *argument;
} first_t;

void ctn_fiber_swap(void **save, void *load)
{
    ucontext_t here;
    *save = &here;
    (void)swapcontext(&here, load);
}

/* makecontext passes integers: a pointer takes two. */
static void start(unsigned high, unsigned low)
{
    const first_t *first =
        (const first_t *)(uintptr_t)((uint64_t)high << 32 | low);
    first->entry(first->argument);
}

static void *first_frame(unsigned char *stack, unsigned char *top,
                         void (*entry)(void *), void *argument)
{
    uintptr_t at = ((uintptr_t)top - sizeof(first_t)) & ~(uintptr_t)63;
    first_t *first = (first_t *)at;
    (void)getcontext(&first->context);
    first->context.uc_stack.ss_sp = stack;
    first->context.uc_stack.ss_size = at - (uintptr_t)stack;
    first->context.uc_link = NULL;
    first->entry = entry;
    first->argument = argument;
    makecontext(&first->context, (void (*)(void))start, 2,
                (unsigned)((uint64_t)at >> 32), (unsigned)at);
    return &first->context;
}

#elif defined(__x86_64__)

void ctn_fiber_start(void);

__asm__(".text\n"
        ".globl ctn_fiber_swap\n"
        ".hidden ctn_fiber_swap\n"
        ".type ctn_fiber_swap,@function\n"
        "ctn_fiber_swap:\n"
        "  endbr64\n"
        "  pushq %rbp\n"
        "  pushq %rbx\n"
        "  pushq %r12\n"
        "  pushq %r13\n"
        "  pushq %r14\n"
        "  pushq %r15\n"
        "  subq $8, %rsp\n"
        "  stmxcsr (%rsp)\n"
        "  fnstcw 4(%rsp)\n"
        "  movq %rsp, (%rdi)\n"
        "  movq %rsi, %rsp\n"
        "  ldmxcsr (%rsp)\n"
        "  fldcw 4(%rsp)\n"
        "  addq $8, %rsp\n"
        "  popq %r15\n"
        "  popq %r14\n"
        "  popq %r13\n"
        "  popq %r12\n"
        "  popq %rbx\n"
        "  popq %rbp\n"
        "  ret\n"
        ".size ctn_fiber_swap,.-ctn_fiber_swap\n"
        ".globl ctn_fiber_start\n"
        ".hidden ctn_fiber_start\n"
        ".type ctn_fiber_start,@function\n"
        "ctn_fiber_start:\n" /* r12: entry, r13: argument */
        "  endbr64\n"
        "  movq %r13, %rdi\n"
        "  xorl %ebp, %ebp\n"
        "  call *%r12\n"
        "  ud2\n"
        ".size ctn_fiber_start,.-ctn_fiber_start\n");

enum { SAVED_WORDS = 8 }; /* control words, r15 .. r12, rbx, rbp, return */

static void *first_frame(unsigned char *stack, unsigned char *top,
                         void (*entry)(void *), void *argument)
{
    (void)stack;
    uint64_t *frame = (uint64_t *)(void *)top - SAVED_WORDS - 2;
    memset(frame, 0, (SAVED_WORDS + 2) * sizeof(*frame));
    uint32_t sse;
    uint16_t x87;
    __asm__ volatile("stmxcsr %0" : "=m"(sse));
    __asm__ volatile("fnstcw %0" : "=m"(x87));
    frame[0] = (uint64_t)x87 << 32 | sse;
    frame[3] = (uint64_t)(uintptr_t)argument; /* r13 */
    frame[4] = (uint64_t)(uintptr_t)entry;    /* r12 */
    frame[7] = (uint64_t)(uintptr_t)ctn_fiber_start;
    return frame;
}

#else /* __aarch64__ */

void ctn_fiber_start(void);

__asm__(".text\n"
        ".globl ctn_fiber_swap\n"
        ".hidden ctn_fiber_swap\n"
        ".type ctn_fiber_swap,%function\n"
        "ctn_fiber_swap:\n"
        "  sub sp, sp, #160\n"
        "  stp x19, x20, [sp, #0]\n"
        "  stp x21, x22, [sp, #16]\n"
        "  stp x23, x24, [sp, #32]\n"
        "  stp x25, x26, [sp, #48]\n"
        "  stp x27, x28, [sp, #64]\n"
        "  stp x29, x30, [sp, #80]\n"
        "  stp d8, d9, [sp, #96]\n"
        "  stp d10, d11, [sp, #112]\n"
        "  stp d12, d13, [sp, #128]\n"
        "  stp d14, d15, [sp, #144]\n"
        "  mov x9, sp\n"
        "  str x9, [x0]\n"
        "  mov sp, x1\n"
        "  ldp x19, x20, [sp, #0]\n"
        "  ldp x21, x22, [sp, #16]\n"
        "  ldp x23, x24, [sp, #32]\n"
        "  ldp x25, x26, [sp, #48]\n"
        "  ldp x27, x28, [sp, #64]\n"
        "  ldp x29, x30, [sp, #80]\n"
        "  ldp d8, d9, [sp, #96]\n"
        "  ldp d10, d11, [sp, #112]\n"
        "  ldp d12, d13, [sp, #128]\n"
        "  ldp d14, d15, [sp, #144]\n"
        "  add sp, sp, #160\n"
        "  ret\n"
        ".size ctn_fiber_swap,.-ctn_fiber_swap\n"
        ".globl ctn_fiber_start\n"
        ".hidden ctn_fiber_start\n"
        ".type ctn_fiber_start,%function\n"
        "ctn_fiber_start:\n" /* x19: entry, x20: argument */
        "  mov x0, x20\n"
        "  mov x29, #0\n"
        "  blr x19\n"
        "  brk #0\n"
        ".size ctn_fiber_start,.-ctn_fiber_start\n");

enum { SAVED_WORDS = 20 };

static void *first_frame(unsigned char *stack, unsigned char *top,
                         void (*entry)(void *), void *argument)
{
    (void)stack;
    uint64_t *frame = (uint64_t *)(void *)top - SAVED_WORDS;
    memset(frame, 0, SAVED_WORDS * sizeof(*frame));
    frame[0] = (uint64_t)(uintptr_t)entry;
    frame[1] = (uint64_t)(uintptr_t)argument;
    frame[11] = (uint64_t)(uintptr_t)ctn_fiber_start; /* x30 */
    return frame;
}

#endif

void ctn_fiber_make(ctn_fiber_t *fiber, void *stack, size_t stack_bytes,
                    void (*entry)(void *argument), void *argument)
{
    fiber->stack = stack;
    fiber->stack_bytes = stack_bytes;
#if defined(__SANITIZE_ADDRESS__)
    fiber->fake_stack = NULL;
#endif
    uintptr_t top = ((uintptr_t)stack + stack_bytes) & ~(uintptr_t)63;
    fiber->stack_pointer =
        first_frame(stack, (unsigned char *)top, entry, argument);
}

__attribute__((no_sanitize("address"))) int
ctn_fiber_overflowed(const ctn_fiber_t *fiber)
{
    const uint64_t *words = (const uint64_t *)(const void *)fiber->stack;
    uint64_t any = 0;
    for (int i = 0; i < LAST_WORDS; i++) {
        any |= words[i];
    }
    return any != 0;
}

void ctn_fiber_begin(ctn_fiber_t *self, ctn_fiber_t *from)
{
#if defined(__SANITIZE_ADDRESS__)
    const void *stack;
    size_t bytes;
    __sanitizer_finish_switch_fiber(self->fake_stack, &stack, &bytes);
    from->stack = (unsigned char *)(uintptr_t)stack;
    from->stack_bytes = bytes;
#else
    (void)self, (void)from;
#endif
}

void ctn_fiber_switch(ctn_fiber_t *from, ctn_fiber_t *to, int last)
{
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(last ? NULL : &from->fake_stack, to->stack,
                                   to->stack_bytes);
#else
    (void)last;
#endif
    ctn_fiber_swap(&from->stack_pointer, to->stack_pointer);
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(from->fake_stack, NULL, NULL);
#endif
}
