#ifndef BENCH_ELEMENTS_H
#define BENCH_ELEMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <catena/catena.h>

/* Elements of reductions: their types, the operations, and a reference that
 * combines them one by one. */

struct bench_blocks;
struct bench_call;
struct bench_mismatch;

enum bench_op_id {
#define BENCH_OP_ID(name) BENCH_OP_##name,
    CATENA_PREDEFINED_OPS(BENCH_OP_ID)
#undef BENCH_OP_ID
};

struct bench_op {
    const char *name;
    enum bench_op_id id;
    catena_op_t op;
};

struct bench_type {
    const char *name;
    catena_datatype_t type;
    size_t bytes;
    unsigned ops; /* that take it: a bit for each */
    /* An element made of a random word: such that results of `op` are exact
     * and depend on all ranks. */
    void (*make)(void *element, enum bench_op_id op, uint64_t word);
    /* left = left op right */
    void (*combine)(void *left, const void *right, enum bench_op_id op);
    bool (*same)(const void *a, const void *b);
};

enum { BENCH_MOST_ELEMENT = 16 }; /* bytes of the largest type */

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
