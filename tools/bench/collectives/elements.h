#ifndef BENCH_ELEMENTS_H
#define BENCH_ELEMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <catena/catena.h>

/* Elements of reductions: types and operations by name. The oracle defines
 * contents and results (tests/oracle/content.h). */

struct bench_blocks;
struct bench_call;
struct bench_mismatch;

struct bench_op {
    const char *name;
    catena_op_t op;
    unsigned oracle; /* its number in the oracle */
};

struct bench_type {
    const char *name;
    catena_type_t type;
    size_t bytes;
    unsigned oracle;
};

/** NULL: no such name. */
const struct bench_type *bench_find_type(const char *name);
const struct bench_op *bench_find_op(const char *name);
bool bench_takes(const struct bench_op *op, const struct bench_type *type);
/** The names, separated by commas. `taking`: only types that this operation
 * supports; NULL: all. */
void bench_list_types(char *text, size_t bytes, const struct bench_op *taking);
void bench_list_ops(char *text, size_t bytes);

/** A vector of this rank, the same for all receivers. */
struct bench_blocks bench_vector_of(const struct bench_call *call,
                                    size_t bytes);
/** Vectors of ranks 0 to `last`, combined in a buffer of `bytes`; -1: none. */
struct bench_blocks bench_vectors_to(int last, size_t bytes);

/** Fill the vectors that are sent, and the guard behind the receive buffer. */
void bench_fill_vector(struct bench_call *call, uint64_t stamp);
/** Number of wrong bytes in both buffers and the guard. A wrong element counts
 * with all its bytes. */
uint64_t bench_verify_vector(struct bench_call *call, uint64_t stamp,
                             struct bench_mismatch *first);

#endif
