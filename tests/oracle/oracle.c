#include "oracle/oracle.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void oracle_fail(const oracle_t *oracle, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    oracle->fail(oracle->owner, text);
}

static void *need(void *memory, size_t bytes)
{
    if (memory == NULL) {
        printf("not ok - no memory for %zu bytes\n", bytes);
        fflush(stdout);
        abort();
    }
    return memory;
}

unsigned char *oracle_take(const oracle_t *oracle, oracle_memory_t memory,
                           size_t bytes)
{
    return need(memory == ORACLE_HEAP ? catena_malloc(oracle->context, bytes)
                                      : malloc(bytes),
                bytes);
}

void oracle_give(const oracle_t *oracle, oracle_memory_t memory, void *block)
{
    if (memory == ORACLE_HEAP) {
        catena_free(oracle->context, block);
    } else {
        free(block);
    }
}

void *oracle_zeros(size_t count, size_t bytes)
{
    return need(calloc(count + 1, bytes), count * bytes);
}
