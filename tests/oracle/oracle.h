#ifndef ORACLE_ORACLE_H
#define ORACLE_ORACLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <catena/catena.h>

/** What the parts of the oracle need of the program that uses them. */
typedef struct oracle {
    catena_context_t *context; /* for memory of its heap */
    /** Take note of an error. */
    void (*fail)(void *owner, const char *text);
    void *owner;
} oracle_t;

void oracle_fail(const oracle_t *oracle, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#define ORACLE_CHECK(oracle, condition)                                        \
    do {                                                                       \
        if (!(condition)) {                                                    \
            oracle_fail(oracle, "%s:%d: %s", __FILE__, __LINE__, #condition);  \
        }                                                                      \
    } while (0)

/** Where a buffer lies. */
typedef enum oracle_memory { ORACLE_HEAP, ORACLE_MALLOC } oracle_memory_t;

/** Memory, without which nothing goes on; and back. */
unsigned char *oracle_take(const oracle_t *oracle, oracle_memory_t memory,
                           size_t bytes);
void oracle_give(const oracle_t *oracle, oracle_memory_t memory, void *block);
/** Zeros, never NULL; for free. */
void *oracle_zeros(size_t count, size_t bytes);

#endif
