#ifndef BENCH_ELEMENTS_H
#define BENCH_ELEMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <catena/catena.h>

/* Elements of reductions: their types and operations by name. What they hold
 * and what they come to is the oracle's (tests/oracle/content.h). */

struct bench_blocks;
struct bench_call;
struct bench_mismatch;

struct bench_op {
    const char *name;
    catena_op_t op;
    unsigned oracle; /* its number there */
};

struct bench_type {
    const char *name;
    catena_datatype_t type;
    size_t bytes;
    unsigned oracle;
};

/** NULL: there is none of this name. */
const struct bench_type *bench_find_type(const char *name);
const struct bench_op *bench_find_op(const char *name);
bool bench_takes(const struct bench_op *op, const struct bench_type *type);
/** The names, separated by commas; `taking`: of types that it takes; NULL: of
 * all. */
void bench_list_types(char *text, size_t bytes, const struct bench_op *taking);
void bench_list_ops(char *text, size_t bytes);

/** A vector of this rank, the same for all that get it. */
struct bench_blocks bench_vector_of(const struct bench_call *call,
                                    size_t bytes);
/** Vectors of ranks 0 to `last`, to be combined in a buffer of `bytes`; -1:
 * none. */
struct bench_blocks bench_vectors_to(int last, size_t bytes);

/** Fill the vector, or vectors, that are sent, and the guard behind the receive
 * buffer. */
void bench_fill_vector(struct bench_call *call, uint64_t stamp);
/** Number of wrong bytes in both buffers and the guard; a wrong element counts
 * with all its bytes. */
uint64_t bench_verify_vector(struct bench_call *call, uint64_t stamp,
                             struct bench_mismatch *first);

#endif
