#include "affine.h"

uint64_t affine_after(uint64_t left, uint64_t right)
{
    uint32_t a = (uint32_t)(left >> 32);
    uint32_t b = (uint32_t)left;
    uint32_t c = (uint32_t)(right >> 32);
    uint32_t d = (uint32_t)right;
    return (uint64_t)(a * c) << 32 | (uint32_t)(a * d + b);
}

void affine_apply(const void *in, void *inout, size_t count,
                  catena_datatype_t type, void *argument)
{
    const uint64_t *left = in;
    uint64_t *right = inout;
    (void)type;
    (void)argument;
    for (size_t i = 0; i < count; i++) {
        right[i] = affine_after(left[i], right[i]);
    }
}
