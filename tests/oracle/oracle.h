#ifndef ORACLE_ORACLE_H
#define ORACLE_ORACLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <catena/catena.h>

/** What the oracle needs from the program that uses it. */
typedef struct oracle {
    catena_context_t *context; /* for memory of its heap */
    /** Record an error. */
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

/** Allocate memory, or end the program on failure; and free it. */
unsigned char *oracle_take(const oracle_t *oracle, oracle_memory_t memory,
                           size_t bytes);
void oracle_give(const oracle_t *oracle, oracle_memory_t memory, void *block);
/** Zeroed memory, never NULL; free it with free. */
void *oracle_zeros(size_t count, size_t bytes);

#endif
