/* Reductions by a function of the application. Operands are streams
 * (datatype.h). */

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "type/builder.h"
#include "type/op.h"

/* Most bytes of copies at once, if the type is dense and if not, and most
 * elements; alignment of copies for users' functions. */
enum {
    DENSE_BYTES = 4096,
    LAID_OUT_BYTES = 32768,
    MOST_ELEMENTS = 32768,
    ALIGNMENT = 16
};

/** Call the function: inout = in op inout, for `bytes` of each stream. */
static void call(const ctn_reducer_t *by, const void *in, void *inout,
                 size_t bytes)
{
    by->op->function(in, inout, bytes / by->type->bytes,
                     ctn_type_handle(by->type), by->op->argument);
}

/** left = left op right. The function overwrites its second operand, so it gets
 * a copy of that, piece by piece. */
static void apply_on_left(const ctn_reducer_t *by, char *left,
                          const char *right, size_t bytes)
{
    size_t element = by->type->bytes;
    _Alignas(64) char on_stack[DENSE_BYTES];
    char *copy = element <= DENSE_BYTES ? on_stack : by->copies->memory;
    size_t most = /* bytes at once: whole elements */
        element <= DENSE_BYTES ? DENSE_BYTES - DENSE_BYTES % element : element;
    for (size_t at = 0; at < bytes; at += most) {
        size_t piece = bytes - at < most ? bytes - at : most;
        memcpy(copy, right + at, piece);
        call(by, left + at, copy, piece);
        memcpy(left + at, copy, piece);
    }
}

/** Memory for some elements laid out as their type describes. */
typedef struct layout {
    size_t elements; /* number of them */
    size_t bytes;    /* of the memory */
    size_t base; /* offset in the memory that stands for the buffer's address; a
                    multiple of ALIGNMENT */
} layout_t;

/** The layout for as many elements as fit LAID_OUT_BYTES, at least one and at
 * most `most`. */
static layout_t lay_out(const ctn_type_t *type, size_t most)
{
    ctn_bounds_t bounds = {type->true_low, type->true_high};
    size_t one = (size_t)(bounds.high - bounds.low); /* bytes of an element */
    size_t step =
        type->extent < 0 ? -(size_t)type->extent : (size_t)type->extent;
    size_t fit = one >= LAID_OUT_BYTES ? 1
                 : step == 0           ? most
                                       : 1 + (LAID_OUT_BYTES - one) / step;
    size_t elements = fit < most ? fit : most;
    (void)ctn_bounds_repeat(&bounds, elements, type->extent);
    ptrdiff_t low = bounds.low & -(ptrdiff_t)ALIGNMENT;
    size_t bytes = (size_t)bounds.high - (size_t)low;
    return (layout_t){elements, (bytes + ALIGNMENT - 1) & -(size_t)ALIGNMENT,
                      -(size_t)low};
}

/** The memory that a reduction needs. */
static size_t copies_bytes(const ctn_reducer_t *by)
{
    const ctn_type_t *type = by->type;
    if (by->op->function == NULL || type->bytes == 0) {
        return 0;
    }
    return !type->dense                ? 2 * lay_out(type, MOST_ELEMENTS).bytes
           : type->bytes > DENSE_BYTES ? type->bytes
                                       : 0;
}

bool ctn_reducer_reserve(ctn_reducer_t *by, ctn_copies_t *copies)
{
    size_t bytes = copies_bytes(by);
    by->copies = copies;
    if (bytes <= copies->bytes) {
        return true;
    }
    void *memory = malloc(bytes);
    if (memory == NULL) {
        ctn_error(NULL,
                  "reduction: no memory for copies of operands, %zu bytes%s",
                  bytes,
                  bytes > 4 * LAID_OUT_BYTES
                      ? "; use a type whose elements span less memory"
                      : "");
        return false;
    }
    free(copies->memory);
    *copies = (ctn_copies_t){memory, bytes};
    return true;
}

/** out = left op right. The function gets copies of the elements, laid out as
 * in a buffer of the application, some elements at a time. */
static void apply_laid_out(const ctn_reducer_t *by, const char *left,
                           const char *right, char *out, size_t bytes)
{
    const ctn_type_t *type = by->type;
    size_t elements = bytes / type->bytes;
    layout_t layout =
        lay_out(type, elements < MOST_ELEMENTS ? elements : MOST_ELEMENTS);
    size_t most = layout.elements * type->bytes;
    assert(2 * layout.bytes <= by->copies->bytes);
    memset(by->copies->memory, 0, 2 * layout.bytes);
    char *in = (char *)((uintptr_t)by->copies->memory + layout.base);
    char *inout = (char *)((uintptr_t)in + layout.bytes);
    for (size_t at = 0; at < bytes; at += most) {
        size_t piece = bytes - at < most ? bytes - at : most;
        (void)ctn_type_unpack(type, in, 0, piece, left + at);
        (void)ctn_type_unpack(type, inout, 0, piece, right + at);
        call(by, in, inout, piece);
        (void)ctn_type_pack(type, inout, 0, piece, out + at);
    }
}

void ctn_apply(const ctn_reducer_t *by, const char *left, const char *right,
               char *out, size_t bytes)
{
    if (!by->type->dense) {
        apply_laid_out(by, left, right, out, bytes);
    } else if (out == left) {
        apply_on_left(by, out, right, bytes);
    } else {
        if (out != right) {
            memcpy(out, right, bytes);
        }
        call(by, left, out, bytes);
    }
}
