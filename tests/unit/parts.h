#ifndef UNIT_PARTS_H
#define UNIT_PARTS_H

#include "fixture.h"

/* Calls of collectives of parts (gather, scatter, allgather, reduce_scatter)
 * of a component, with buffers here and there, and what is to come of them. */

typedef struct memory {
    unsigned char *data;
    size_t bytes;
    bool in_heap;
} memory_t;

/** A call and what it works on. */
typedef struct part_call {
    fixture_t *f;
    ctn_basic_kind_t kind;
    ctn_basic_t basic;
    uint64_t salt;
    bool matrices; /* reduce_scatter: else bytes, added */
    size_t *at;    /* of all, on all members */
    memory_t in, out;
} part_call_t;

/** How long parts are. */
typedef enum lengths { NOTHING, SHORT, MIXED, LONG, EQUAL, LENGTHS } lengths_t;

/** Draw lengths and buffers, in place or not, and fill them; collective. */
void part_prepare(part_call_t *call, fixture_t *f, ctn_basic_kind_t kind,
                  const char *algorithm, uint32_t root, lengths_t lengths);
/** Check the result. */
void part_check_out(const part_call_t *call);
/** Check it, and that nothing else was written, and drop it. */
void part_finish(part_call_t *call);
void part_drop(part_call_t *call);

#endif
