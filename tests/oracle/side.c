#include "oracle/side.h"

#include <stdlib.h>
#include <string.h>

#include "oracle/random.h"

enum { GUARD = 64 };

void oracle_side_open(oracle_side_t *side, size_t most)
{
    side->drawings = 0;
    side->type = oracle_zeros(most, sizeof(oracle_type_t *));
    side->place = oracle_zeros(most, sizeof(*side->place));
    side->counts = oracle_zeros(most, sizeof(*side->counts));
    side->displacements = oracle_zeros(most, sizeof(*side->displacements));
    side->types = oracle_zeros(most, sizeof(catena_type_t));
}

const oracle_type_t *oracle_side_draw(const oracle_t *oracle,
                                      oracle_side_t *side, uint64_t *random,
                                      oracle_elements_t elements, size_t bytes)
{
    oracle_type_t *t = &side->drawn[side->drawings++];
    oracle_type_draw(oracle, t, random, elements, bytes);
    return t;
}

void oracle_side_release(const oracle_t *oracle, oracle_side_t *side)
{
    for (unsigned i = 0; i < side->drawings; i++) {
        oracle_type_release(oracle, &side->drawn[i]);
    }
}

void oracle_side_close(const oracle_t *oracle, oracle_side_t *side)
{
    for (unsigned i = 0; i < side->drawings; i++) {
        oracle_type_drop(oracle, &side->drawn[i]);
    }
    oracle_give(oracle, side->memory, side->block);
    free(side->image);
    free(side->type);
    free(side->place);
    free(side->counts);
    free(side->displacements);
    free(side->types);
}

/* ---- places ---- */

bool oracle_side_has_data(const oracle_side_t *side, size_t block)
{
    return side->counts[block] > 0 && side->type[block]->bytes > 0;
}

void oracle_side_place_in_order(oracle_side_t *side)
{
    for (size_t b = 0; b < side->blocks; b++) {
        side->place[b] =
            (ptrdiff_t)(b * side->counts[b]) * side->type[b]->extent;
    }
}

/** Place a block after `cursor`, and move `cursor` to its end. */
static void place_behind(oracle_side_t *side, size_t block, ptrdiff_t step,
                         ptrdiff_t *cursor)
{
    ptrdiff_t low, high;
    ptrdiff_t unit = step < 0 ? -step : step;
    oracle_type_span(side->type[block], side->counts[block], &low, &high);
    ptrdiff_t bytes = *cursor - low;
    ptrdiff_t steps = bytes > 0 ? (bytes + unit - 1) / unit : -(-bytes / unit);
    side->displacements[block] = step < 0 ? -steps : steps;
    *cursor = side->displacements[block] * step + high;
}

/** Blocks without data get arbitrary displacements. */
void oracle_side_place_anywhere(oracle_side_t *side, ptrdiff_t step, size_t gap,
                                bool in_order, uint64_t *random)
{
    static const ptrdiff_t moves[] = {0, 0, 1, -3, 100, 20000, -20000};
    bool ordered = in_order || ctn_random_below(random, 4) == 0;
    size_t *order = oracle_zeros(side->blocks, sizeof(*order));
    ptrdiff_t cursor = 0;
    for (size_t i = 0; i < side->blocks; i++) {
        size_t j = ordered ? i : ctn_random_below(random, i + 1);
        order[i] = order[j];
        order[j] = i;
    }
    for (size_t i = 0; i < side->blocks; i++) {
        size_t b = order[i];
        side->displacements[b] = 1000 - (ptrdiff_t)(b * 977 % 2000);
        if (oracle_side_has_data(side, b)) {
            bool more = !ordered && ctn_random_below(random, 3) == 0;
            cursor += more ? (ptrdiff_t)ctn_random_below(random, 50) : 0;
            place_behind(side, b, step, &cursor);
            cursor += (ptrdiff_t)gap * (step < 0 ? -step : step);
        }
    }
    ptrdiff_t move = ordered ? 0 : moves[ctn_random_below(random, 7)];
    for (size_t b = 0; b < side->blocks; b++) {
        side->displacements[b] += move;
        side->place[b] = side->displacements[b] * step;
    }
    free(order);
}

/** The first and the last byte of all blocks. @return whether there are any */
static bool span_of(const oracle_side_t *side, ptrdiff_t *first,
                    ptrdiff_t *last)
{
    bool any = false;
    *first = *last = 0;
    for (size_t b = 0; b < side->blocks; b++) {
        ptrdiff_t low, high;
        if (!oracle_side_has_data(side, b)) {
            continue;
        }
        oracle_type_span(side->type[b], side->counts[b], &low, &high);
        low += side->place[b];
        high += side->place[b];
        *first = !any || low < *first ? low : *first;
        *last = !any || high > *last ? high : *last;
        any = true;
    }
    return any;
}

bool oracle_side_take(const oracle_t *oracle, oracle_side_t *side, size_t odd)
{
    ptrdiff_t first, last;
    bool any = span_of(side, &first, &last);
    side->bytes = (size_t)(last - first) + 2 * (size_t)GUARD + odd;
    side->block = oracle_take(oracle, side->memory, side->bytes);
    side->image = oracle_zeros(side->bytes, 1);
    side->origin = (ptrdiff_t)(GUARD + odd) - first;
    side->base =
        (unsigned char *)((uintptr_t)side->block + (uintptr_t)side->origin);
    return any;
}

/* ---- contents ---- */

void oracle_side_put(oracle_side_t *side, size_t block, size_t bytes,
                     const unsigned char *data)
{
    const oracle_type_t *type = side->type[block];
    if (bytes > 0) { /* an empty block may lie outside the image */
        oracle_type_put(type, side->image + side->origin + side->place[block],
                        bytes / type->bytes, data);
    }
}

void oracle_side_accept_blocks(oracle_side_t *side)
{
    unsigned char *image = side->image;
    unsigned char *inside = oracle_zeros(side->bytes, 1);
    side->image = inside;
    for (size_t b = 0; b < side->blocks; b++) {
        size_t bytes = side->counts[b] * side->type[b]->bytes;
        unsigned char *ones = oracle_zeros(bytes, 1);
        memset(ones, 1, bytes);
        oracle_side_put(side, b, bytes, ones);
        free(ones);
    }
    side->image = image;
    for (size_t i = 0; i < side->bytes; i++) {
        image[i] = inside[i] != 0 ? side->block[i] : image[i];
    }
    free(inside);
}

static void normalize(const oracle_side_t *side, unsigned char *memory,
                      unsigned type, size_t units)
{
    unsigned char *base = memory + side->origin;
    if (side->drawings == 0) { /* the caller may have freed the type */
        oracle_normalize(type, base, units);
        return;
    }
    unsigned char *data = oracle_zeros(units, oracle_unit_bytes(type));
    oracle_type_get(&side->drawn[0], base, side->counts[0], data);
    oracle_normalize(type, data, units);
    oracle_type_put(&side->drawn[0], base, side->counts[0], data);
    free(data);
}

void oracle_side_normalize(const oracle_side_t *side, unsigned type,
                           size_t units)
{
    normalize(side, side->image, type, units);
    normalize(side, side->block, type, units);
}

void oracle_side_compare(const oracle_t *oracle, const oracle_side_t *side,
                         const char *name, const char *what)
{
    size_t i = 0;
    if (memcmp(side->block, side->image, side->bytes) == 0) {
        return;
    }
    while (side->block[i] == side->image[i]) {
        i++;
    }
    oracle_fail(oracle,
                "%s: %s buffer (%s), byte %td of %zu: expected %02x, found "
                "%02x",
                what, name, side->memory == ORACLE_HEAP ? "heap" : "malloc",
                (ptrdiff_t)i - GUARD, side->bytes - 2 * (size_t)GUARD,
                side->image[i], side->block[i]);
}
