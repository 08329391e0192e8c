/* HIER-6: covers and packings; see cover.h. */

#include "coll/ml/cover.h"

#include <assert.h>

/** A position in a cover: where to begin the search for the next ranks. */
typedef struct ml_cursor {
    uint32_t range;  /* index of a range of the cover */
    uint32_t before; /* number of ranks in the ranges before it */
} ml_cursor_t;

/** Where the blocks of some consecutive ranks lie in a cover's memory. */
typedef struct ml_stretch {
    size_t from; /* offset */
    size_t bytes;
} ml_stretch_t;

uint32_t ctn_cover_count(const ctn_range_t *range, uint32_t ranges)
{
    uint32_t ranks = 0;
    for (uint32_t i = 0; i < ranges; i++) {
        ranks += range[i].count;
    }
    return ranks;
}

/** The index of rank `first` in the cover. Begins to search at the cursor,
 * which it moves there. */
static uint32_t find(const ctn_cover_t *cover, uint32_t first,
                     ml_cursor_t *cursor)
{
    if (first < cover->range[cursor->range].first) {
        *cursor = (ml_cursor_t){0, 0};
    }
    const ctn_range_t *range = &cover->range[cursor->range];
    while (first >= range->first + range->count) {
        cursor->before += range->count;
        cursor->range++;
        range++;
        assert(cursor->range < cover->ranges);
    }
    return cursor->before + first - range->first;
}

uint32_t ctn_cover_find(const ctn_cover_t *cover, uint32_t rank)
{
    return find(cover, rank, &(ml_cursor_t){0, 0});
}

/** Where the blocks of a range of ranks lie. All of these ranks are in the same
 * range of the cover. */
static ml_stretch_t stretch_of(const ctn_cover_t *cover,
                               const ctn_range_t *range, ml_cursor_t *cursor)
{
    uint32_t i = find(cover, range->first, cursor);
    size_t from = ctn_cover_at(cover, i);
    return (ml_stretch_t){from, ctn_cover_at(cover, i + range->count) - from};
}

/* ---- packing ---- */

void ctn_packing_find_rest(ctn_packing_t *packing, uint32_t size,
                           ctn_range_t *rest)
{
    uint32_t ranges = ctn_sbgp_ranges(packing->sbgp, rest);
    uint32_t next = 0; /* the first rank that is in no range so far */
    packing->rest = rest;
    packing->rests = 0;
    /* At most one range is written for each one read, so none is overwritten
     * before it is read. */
    for (uint32_t i = 0; i < ranges; i++) {
        ctn_range_t range = rest[i];
        if (range.first > next) {
            rest[packing->rests++] = (ctn_range_t){next, range.first - next};
        }
        next = range.first + range.count;
    }
    if (next < size) {
        rest[packing->rests++] = (ctn_range_t){next, size - next};
    }
}

/** Number of ranges whose blocks a member sends or receives. */
static uint32_t ranges_of(const ctn_packing_t *packing, uint32_t member)
{
    return packing->sbgp->member[member].ranges +
           (member == 0 ? packing->rests : 0);
}

/** Range k of them. */
static const ctn_range_t *range_of(const ctn_packing_t *packing,
                                   uint32_t member, uint32_t k)
{
    const ctn_sbgp_member_t *it = &packing->sbgp->member[member];
    return k < it->ranges ? &it->range[k] : &packing->rest[k - it->ranges];
}

bool ctn_packing_layout_member(const ctn_cover_t *cover,
                               const ctn_packing_t *packing, uint32_t member,
                               size_t *bytes, size_t *from)
{
    ml_cursor_t cursor = {0, 0};
    bool together = true; /* contiguous in the cover, in this order */
    *bytes = 0;
    *from = 0;
    for (uint32_t k = 0; k < ranges_of(packing, member); k++) {
        ml_stretch_t stretch =
            stretch_of(cover, range_of(packing, member, k), &cursor);
        if (stretch.bytes == 0) {
            continue;
        }
        if (*bytes == 0) {
            *from = stretch.from;
        }
        together &= stretch.from == *from + *bytes;
        *bytes += stretch.bytes;
    }
    return together;
}

bool ctn_packing_layout(const ctn_cover_t *cover, const ctn_packing_t *packing,
                        size_t *at, size_t *from)
{
    bool together = true;
    at[0] = 0;
    *from = 0;
    for (uint32_t i = 0; i < packing->sbgp->size; i++) {
        size_t bytes;
        size_t begin;
        together &=
            ctn_packing_layout_member(cover, packing, i, &bytes, &begin);
        if (at[i] == 0) {
            *from = begin;
        }
        together &= bytes == 0 || begin == *from + at[i];
        at[i + 1] = at[i] + bytes;
    }
    return together;
}

void ctn_packing_copy_member(ctn_exec_t *exec, const ctn_cover_t *cover,
                             const ctn_packing_t *packing, uint32_t member,
                             unsigned char *packed, bool out)
{
    ml_cursor_t cursor = {0, 0};
    for (uint32_t k = 0; k < ranges_of(packing, member); k++) {
        ml_stretch_t stretch =
            stretch_of(cover, range_of(packing, member, k), &cursor);
        unsigned char *kept = cover->memory + stretch.from;
        if (stretch.bytes > 0) {
            ctn_exec_copy(exec, out ? packed : kept, out ? kept : packed,
                          stretch.bytes);
            packed += stretch.bytes;
        }
    }
}
