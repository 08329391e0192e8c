#ifndef BENCH_ELEMENTS_H
#define BENCH_ELEMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <catena/catena.h>

/* Elements of reductions: types and operations by name. The functions of
 * tests/oracle/content.h ("the oracle") compute contents and results. */

struct bench_blocks;
struct bench_call;
struct bench_mismatch;

/* An operation of --op. */
struct bench_op {
    const char *name;
    catena_op_t op;
    unsigned oracle; /* its number in the oracle */
};

/* An element type of --type. */
struct bench_type {
    const char *name;
    catena_type_t type;
    size_t bytes;    /* of an element */
    unsigned oracle; /* its number in the oracle */
};

/** The type or operation of this name; NULL: there is none. */
const struct bench_type *bench_find_type(const char *name);
const struct bench_op *bench_find_op(const char *name);
/** Whether the operation supports the type. */
bool bench_takes(const struct bench_op *op, const struct bench_type *type);
/** Write the names, separated by commas. `taking`: only types that this
 * operation supports; NULL: all. */
void bench_list_types(char *text, size_t bytes, const struct bench_op *taking);
void bench_list_ops(char *text, size_t bytes);

/** The send buffer of a reduction: one vector of this rank. */
struct bench_blocks bench_vector_of(const struct bench_call *call,
                                    size_t bytes);
/** The receive buffer of a reduction, of `bytes`: it gets the combined vectors
 * of ranks 0 to `last`; -1: it gets nothing. */
struct bench_blocks bench_vectors_to(int last, size_t bytes);

/** Fill the vectors that are sent, and the guard behind the receive buffer. */
void bench_fill_vector(struct bench_call *call, uint64_t stamp);
/** Check both buffers and the guard. Returns the number of wrong bytes; a wrong
 * element counts with all its bytes. */
uint64_t bench_verify_vector(struct bench_call *call, uint64_t stamp,
                             struct bench_mismatch *first);

#endif
