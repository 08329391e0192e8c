/* Copies between the stream of a type and memory, from any offset of the
 * stream. (Runs, levels, bodies and rows: datatype.h.) The offset is divided by
 * the length of a body once on each level, to find where to begin; the rest is
 * loops. */

#include "type/datatype.h"

#include <string.h>

#define INLINED static inline __attribute__((always_inline))

/** State of a copy. The pointer to the stream is advanced, the one to memory
 * stays at the base. */
typedef struct copier {
    const ctn_level_t *level; /* of the type, or of a member of it */
    size_t run;               /* bytes of its run */
    bool pack;                /* copy to the stream; else from the stream */
    const unsigned char *in;  /* pack: the base; unpack: in the stream */
    unsigned char *out;       /* pack: in the stream; unpack: the base */
} copier_t;

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static ptrdiff_t times(size_t count, ptrdiff_t stride)
{
    return (ptrdiff_t)count * stride;
}

/** Advance in the stream. */
static void advance(copier_t *c, size_t bytes)
{
    if (c->pack) {
        c->out += bytes;
    } else {
        c->in += bytes;
    }
}

/** Copy contiguous bytes; `offset` is from the base, here and below. */
static void copy_bytes(copier_t *c, ptrdiff_t offset, size_t bytes)
{
    if (c->pack) {
        memcpy(c->out, c->in + offset, bytes);
    } else {
        memcpy(c->out + offset, c->in, bytes);
    }
    advance(c, bytes);
}

/** Copy `count` runs. Inlined with constant arguments: with a constant `run`
 * memcpy becomes one or two instructions, and with constant `pack` and
 * `displacement` (NULL or not) the loop has no branches. */
INLINED void copy_loop(unsigned char *restrict out,
                       const unsigned char *restrict in, bool pack,
                       const ptrdiff_t *displacement, ptrdiff_t stride,
                       size_t run, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ptrdiff_t at =
            displacement != NULL ? displacement[i] : times(i, stride);
        memcpy(out + (pack ? (ptrdiff_t)(i * run) : at),
               in + (pack ? at : (ptrdiff_t)(i * run)), run);
    }
}

/** The same, with `pack` and `displacement` not constant. */
INLINED void copy_both(unsigned char *out, const unsigned char *in, bool pack,
                       const ptrdiff_t *displacement, ptrdiff_t stride,
                       size_t run, size_t count)
{
    if (pack && displacement == NULL) {
        copy_loop(out, in, true, NULL, stride, run, count);
    } else if (pack) {
        copy_loop(out, in, true, displacement, 0, run, count);
    } else if (displacement == NULL) {
        copy_loop(out, in, false, NULL, stride, run, count);
    } else {
        copy_loop(out, in, false, displacement, 0, run, count);
    }
}

/** Copy whole runs: one at offset + displacement[i], or at offset + i * stride
 * if there are no displacements. */
static void copy_runs(copier_t *c, ptrdiff_t offset,
                      const ptrdiff_t *displacement, ptrdiff_t stride,
                      size_t count)
{
    unsigned char *out = c->out + (c->pack ? 0 : offset);
    const unsigned char *in = c->in + (c->pack ? offset : 0);
#define CASE(bytes)                                                            \
    case bytes:                                                                \
        copy_both(out, in, c->pack, displacement, stride, bytes, count);       \
        break;
    switch (c->run) {
        CASE(1)
        CASE(2)
        CASE(4)
        CASE(8)
        CASE(12)
        CASE(16)
        CASE(24)
        CASE(32)
        CASE(48)
        CASE(64)
    default:
        copy_both(out, in, c->pack, displacement, stride, c->run, count);
    }
#undef CASE
    advance(c, count * c->run);
}

/** Copy `bytes` of a row of runs, `stride` apart, starting at byte `from` of
 * its stream. */
static void copy_run_row(copier_t *c, ptrdiff_t offset, ptrdiff_t stride,
                         size_t from, size_t bytes)
{
    size_t run = c->run;
    if (stride == (ptrdiff_t)run) {
        copy_bytes(c, offset + (ptrdiff_t)from, bytes);
        return;
    }
    if (from >= run) {
        offset += times(from / run, stride);
        from %= run;
    }
    if (from > 0) {
        size_t fragment = smaller(run - from, bytes);
        copy_bytes(c, offset + (ptrdiff_t)from, fragment);
        bytes -= fragment;
        if (bytes == 0) {
            return; /* one more stride may not fit ptrdiff_t */
        }
        offset += stride;
    }
    size_t whole = bytes / run;
    if (whole > 0) {
        copy_runs(c, offset, NULL, stride, whole);
        bytes -= whole * run;
    }
    if (bytes > 0) {
        copy_bytes(c, offset + times(whole, stride), bytes);
    }
}

static void copy_row(copier_t *c, uint32_t depth, ptrdiff_t offset,
                     ptrdiff_t stride, size_t from, size_t bytes);

/** Copy from bodies that consist of the lowest `depth` levels, at the
 * displacements of `level`. */
static void copy_scattered(copier_t *c, uint32_t depth,
                           const ctn_level_t *level, ptrdiff_t offset,
                           size_t from, size_t bytes)
{
    size_t body = depth > 0 ? c->level[depth - 1].bytes : c->run;
    size_t i = from / body;
    from -= i * body;
    while (bytes > 0) {
        size_t whole = bytes / body;
        if (depth == 0 && from == 0 && whole > 0) {
            copy_runs(c, offset, &level->displacement[i], 0, whole);
            i += whole;
            bytes -= whole * body;
            continue;
        }
        size_t fragment = smaller(body - from, bytes);
        copy_row(c, depth, offset + level->displacement[i], 0, from, fragment);
        bytes -= fragment;
        from = 0;
        i++;
    }
}

/** Return the block that contains an offset of the stream: the last that does
 * not begin after it. */
static size_t find_block(const ctn_level_t *level, size_t from)
{
    size_t low = 0;
    size_t high = level->count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (level->start[middle] <= from) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

/** Copy from blocks of such bodies, at the displacements of `level`. */
static void copy_indexed(copier_t *c, uint32_t depth, const ctn_level_t *level,
                         ptrdiff_t offset, size_t from, size_t bytes)
{
    for (size_t i = find_block(level, from); bytes > 0; i++) {
        size_t fragment = smaller(level->start[i + 1] - from, bytes);
        copy_row(c, depth, offset + level->displacement[i], level->stride,
                 from - level->start[i], fragment);
        from += fragment;
        bytes -= fragment;
    }
}

/** Copy from the members of a struct, each with levels of its own. */
static void copy_members(copier_t *c, const ctn_level_t *level,
                         ptrdiff_t offset, size_t from, size_t bytes)
{
    const ctn_level_t *levels = c->level;
    size_t run = c->run;
    for (size_t i = find_block(level, from); bytes > 0; i++) {
        const ctn_type_t *member = level->member[i];
        size_t fragment = smaller(level->start[i + 1] - from, bytes);
        c->level = member->level;
        c->run = member->run;
        copy_row(c, member->stream_depth, offset + level->displacement[i],
                 member->stream_stride, from - level->start[i], fragment);
        from += fragment;
        bytes -= fragment;
    }
    c->level = levels;
    c->run = run;
}

/** Copy from one body that consists of the lowest `depth` (1 or more) levels.
 */
static void copy_body(copier_t *c, uint32_t depth, ptrdiff_t offset,
                      size_t from, size_t bytes)
{
    const ctn_level_t *level = &c->level[depth - 1];
    switch (level->kind) {
    case CTN_LEVEL_STRIDED:
        copy_row(c, depth - 1, offset, level->stride, from, bytes);
        break;
    case CTN_LEVEL_SCATTERED:
        copy_scattered(c, depth - 1, level, offset, from, bytes);
        break;
    case CTN_LEVEL_INDEXED:
        copy_indexed(c, depth - 1, level, offset, from, bytes);
        break;
    case CTN_LEVEL_MEMBERS:
        copy_members(c, level, offset, from, bytes);
        break;
    }
}

/** Copy `bytes` of a row of bodies that consist of the lowest `depth` levels,
 * `stride` apart, starting at byte `from` of its stream. */
static void copy_row(copier_t *c, uint32_t depth, ptrdiff_t offset,
                     ptrdiff_t stride, size_t from, size_t bytes)
{
    if (depth == 0) {
        copy_run_row(c, offset, stride, from, bytes);
        return;
    }
    size_t body = c->level[depth - 1].bytes;
    if (from >= body) {
        offset += times(from / body, stride);
        from %= body;
    }
    size_t fragment = smaller(body - from, bytes);
    copy_body(c, depth, offset, from, fragment);
    for (bytes -= fragment; bytes > 0; bytes -= fragment) {
        offset += stride;
        fragment = smaller(body, bytes);
        copy_body(c, depth, offset, 0, fragment);
    }
}

/** Copy a part of the stream of a type; see datatype.h. */
static size_t copy_stream(const ctn_type_t *type, bool pack, const void *in,
                          void *out, size_t from, size_t bytes)
{
    if (bytes == 0 || type->bytes == 0) {
        return 0;
    }
    copier_t c = {.level = type->level,
                  .run = type->run,
                  .pack = pack,
                  .in = in,
                  .out = out};
    copy_row(&c, type->stream_depth, type->shift, type->stream_stride, from,
             bytes);
    return bytes;
}

size_t ctn_type_pack(const ctn_type_t *type, const void *base, size_t from,
                     size_t bytes, void *out)
{
    return copy_stream(type, true, base, out, from, bytes);
}

size_t ctn_type_unpack(const ctn_type_t *type, void *base, size_t from,
                       size_t bytes, const void *in)
{
    return copy_stream(type, false, in, base, from, bytes);
}
