/* Reductions by a function of the application. Operands are streams
 * (datatype.h). */

#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "type/builder.h"
#include "type/op.h"

/* Most bytes of copies at once, if the type is dense and if not; alignment of
 * copies for users' functions. */
enum { DENSE_BYTES = 4096, LAID_OUT_BYTES = 32768, ALIGNMENT = 16 };

/** Call the function: inout = in op inout, for `bytes` of each stream. */
static void call(const ctn_reducer_t *by, const void *in, void *inout,
                 size_t bytes)
{
    by->op->function(in, inout, bytes / by->type->bytes,
                     ctn_type_handle(by->type), by->op->argument);
}

/** left = left op right. The function overwrites its second operand, so it gets
 * a copy of that, piece by piece. */
static bool apply_on_left(const ctn_reducer_t *by, char *left,
                          const char *right, size_t bytes)
{
    size_t element = by->type->bytes;
    _Alignas(64) char on_stack[DENSE_BYTES];
    char *copy = element <= DENSE_BYTES ? on_stack : malloc(element);
    if (copy == NULL) {
        return false;
    }
    size_t most = /* bytes at once: whole elements */
        element <= DENSE_BYTES ? DENSE_BYTES - DENSE_BYTES % element : element;
    for (size_t at = 0; at < bytes; at += most) {
        size_t piece = bytes - at < most ? bytes - at : most;
        memcpy(copy, right + at, piece);
        call(by, left + at, copy, piece);
        memcpy(left + at, copy, piece);
    }
    if (copy != on_stack) {
        free(copy);
    }
    return true;
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

/** out = left op right. The function gets copies of the elements, laid out as
 * in a buffer of the application, some elements at a time. */
static bool apply_laid_out(const ctn_reducer_t *by, const char *left,
                           const char *right, char *out, size_t bytes)
{
    const ctn_type_t *type = by->type;
    layout_t layout = lay_out(type, bytes / type->bytes);
    size_t most = layout.elements * type->bytes;
    char *memory = calloc(2, layout.bytes);
    if (memory == NULL) {
        ctn_error(
            NULL,
            "reduction: no memory for copies of two operands of %zu bytes "
            "each; use a type whose elements span less memory",
            layout.bytes);
        return false;
    }
    char *in = (char *)((uintptr_t)memory + layout.base);
    char *inout = (char *)((uintptr_t)in + layout.bytes);
    for (size_t at = 0; at < bytes; at += most) {
        size_t piece = bytes - at < most ? bytes - at : most;
        (void)ctn_type_unpack(type, in, 0, piece, left + at);
        (void)ctn_type_unpack(type, inout, 0, piece, right + at);
        call(by, in, inout, piece);
        (void)ctn_type_pack(type, inout, 0, piece, out + at);
    }
    free(memory);
    return true;
}

bool ctn_apply(const ctn_reducer_t *by, const char *left, const char *right,
               char *out, size_t bytes)
{
    if (!by->type->dense) {
        return apply_laid_out(by, left, right, out, bytes);
    }
    if (out == left) {
        return apply_on_left(by, out, right, bytes);
    }
    if (out != right) {
        memcpy(out, right, bytes);
    }
    call(by, left, out, bytes);
    return true;
}
