#ifndef UNIT_MATRIX_H
#define UNIT_MATRIX_H

#include <catena/catena.h>
#include <stddef.h>
#include <stdint.h>

/* 2 x 2 matrices: their product is associative and not commutative, and each of
 * them can be inverted, so no member's part is lost. */
typedef struct matrix {
    uint32_t a, b, c, d;
} matrix_t;

static inline matrix_t matrix_product(matrix_t x, matrix_t y)
{
    return (matrix_t){x.a * y.a + x.b * y.c, x.a * y.b + x.b * y.d,
                      x.c * y.a + x.d * y.c, x.c * y.b + x.d * y.d};
}

/** One that is drawn so. */
static inline matrix_t matrix_from(uint64_t drawn)
{
    uint32_t x = (uint32_t)drawn;
    uint32_t y = (uint32_t)(drawn >> 32);
    return (matrix_t){x * y + 1, x, y, 1};
}

/** As the function of an operation. */
static inline void matrix_multiply(const void *in, void *inout, size_t count,
                                   catena_datatype_t type, void *argument)
{
    const matrix_t *x = in;
    matrix_t *y = inout;
    (void)type, (void)argument;
    for (size_t i = 0; i < count; i++) {
        y[i] = matrix_product(x[i], y[i]);
    }
}

#endif
