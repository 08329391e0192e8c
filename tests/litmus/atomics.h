#ifndef LITMUS_ATOMICS_H
#define LITMUS_ATOMICS_H

/* To be included before code under test, and after all headers of the system:
 * atomic accesses by the compiler's functions go to litmus/memory.h. */

#include "litmus/memory.h"

#define __atomic_load_n(p, order)                                              \
    ((__typeof__(*(p)))litmus_load(p, sizeof(*(p)), order))
#define __atomic_store_n(p, value, order)                                      \
    litmus_store(p, sizeof(*(p)), (uint64_t)(value), order)
#define __atomic_exchange_n(p, value, order)                                   \
    ((__typeof__(*(p)))litmus_exchange(p, sizeof(*(p)), (uint64_t)(value),     \
                                       order))
#define __atomic_fetch_add(p, value, order)                                    \
    ((__typeof__(*(p)))litmus_add(p, sizeof(*(p)), (uint64_t)(value), order))
#define __atomic_add_fetch(p, value, order)                                    \
    (__atomic_fetch_add(p, value, order) + (__typeof__(*(p)))(value))
#define __atomic_fetch_sub(p, value, order)                                    \
    __atomic_fetch_add(p, -(value), order)
#define __atomic_sub_fetch(p, value, order)                                    \
    __atomic_add_fetch(p, -(value), order)
#define __atomic_compare_exchange_n(p, expected, value, weak, order, failure)  \
    (__extension__({                                                           \
        uint64_t expected_ = (uint64_t) * (expected);                          \
        bool written_ = litmus_compare_exchange(                               \
            p, sizeof(*(p)), &expected_, (uint64_t)(value), order, failure);   \
        *(expected) = (__typeof__(*(p)))expected_;                             \
        written_;                                                              \
    }))
#define __atomic_thread_fence(order) litmus_fence(order)
/* It orders the accesses of a thread for the compiler alone. */
#define __atomic_signal_fence(order) ((void)(order))

#endif
