#include "parts.h"

#include <stdlib.h>
#include <string.h>

#include "matrix.h"

/* ---- memory ---- */

enum { GUARD = 0x5a, GUARD_BYTES = 32 };

static memory_t take(fixture_t *f, size_t bytes)
{
    memory_t memory = {NULL, bytes, fixture_pick(&f->own, 2) == 0};
    size_t all = (bytes + 15 + GUARD_BYTES) & ~(size_t)15;
    memory.data = memory.in_heap ? ctn_heap_alloc(f->job->exec->heap, 16, all)
                                 : aligned_alloc(16, all);
    memset(memory.data, GUARD, bytes + GUARD_BYTES);
    return memory;
}

static void give(fixture_t *f, memory_t *memory)
{
    if (memory->in_heap) {
        ctn_heap_free(f->job->exec->heap, memory->data);
    } else {
        free(memory->data);
    }
}

static bool holds_guard(const unsigned char *data, size_t bytes)
{
    size_t i = 0;
    while (i < bytes && data[i] == GUARD) {
        i++;
    }
    return i == bytes;
}

/* ---- lengths ---- */

static size_t draw_length(uint64_t *random, lengths_t lengths, uint32_t members)
{
    static const size_t some[] = {0,    1,    7,     112,   120,   1000,
                                  2048, 2049, 16384, 16385, 33001, 70000};
    switch (lengths) {
    case SHORT:
        return fixture_pick(random, 4) == 0 ? 0 : fixture_pick(random, 120);
    case MIXED:
        return some[fixture_pick(random, 12)];
    case LONG:
        return fixture_pick(random, members) < 2
                   ? 180000 + fixture_pick(random, 120001)
                   : fixture_pick(random, 1000);
    default:
        return 0;
    }
}

static void draw_lengths(part_call_t *call, lengths_t lengths)
{
    uint32_t size = call->f->subgroup.sbgp.size;
    size_t unit = call->matrices ? sizeof(matrix_t) : 1;
    size_t equal = draw_length(&call->f->random,
                               fixture_pick(&call->f->random, 4), 3 * size);
    call->at = calloc(size + 1, sizeof(*call->at));
    for (uint32_t i = 0; i < size; i++) {
        size_t bytes = draw_length(&call->f->random, lengths, size);
        bytes = lengths == EQUAL ? equal : bytes;
        call->at[i + 1] = call->at[i] + bytes / unit * unit;
    }
}

static size_t part_bytes(const part_call_t *call, uint32_t member)
{
    return call->at[member + 1] - call->at[member];
}

/** Byte i of what `from` has for `to`, or for all. */
static unsigned char content(uint64_t salt, uint32_t from, uint32_t to,
                             size_t i)
{
    return (unsigned char)(salt + from * 41 + to * 7 + i + (i >> 8) * 3);
}

static void fill(const part_call_t *call, uint32_t from, uint32_t to,
                 unsigned char *data)
{
    for (size_t i = 0; i < part_bytes(call, to); i++) {
        data[i] = content(call->salt, from, to, i);
    }
}

static bool is_filled(const part_call_t *call, uint32_t from, uint32_t to,
                      const unsigned char *data)
{
    size_t i = 0;
    while (i < part_bytes(call, to) &&
           data[i] == content(call->salt, from, to, i)) {
        i++;
    }
    return i == part_bytes(call, to);
}

/** What a member has for a part of the result of reduce_scatter. */
static matrix_t matrix_of(const part_call_t *call, uint32_t from, size_t i)
{
    uint64_t x = (call->salt + from * UINT64_C(0xbf58476d1ce4e5b9) + i) *
                 UINT64_C(0x94d049bb133111eb);
    return matrix_from(x);
}

static void fill_vector(const part_call_t *call, uint32_t from,
                        unsigned char *data)
{
    size_t bytes = call->at[call->f->subgroup.sbgp.size];
    for (size_t i = 0; call->matrices && i < bytes / sizeof(matrix_t); i++) {
        ((matrix_t *)(void *)data)[i] = matrix_of(call, from, i);
    }
    for (size_t i = 0; !call->matrices && i < bytes; i++) {
        data[i] = content(call->salt, from, 0, i);
    }
}

static bool is_reduced(const part_call_t *call, const unsigned char *data)
{
    const ctn_sbgp_t *sbgp = &call->f->subgroup.sbgp;
    size_t from = call->at[sbgp->me];
    size_t bytes = part_bytes(call, sbgp->me);
    bool same = true;
    size_t unit = sizeof(matrix_t);
    for (size_t i = 0; call->matrices && i < bytes / unit; i++) {
        matrix_t value = {1, 0, 0, 1};
        for (uint32_t member = 0; member < sbgp->size; member++) {
            value =
                matrix_product(value, matrix_of(call, member, from / unit + i));
        }
        same &= memcmp(data + i * unit, &value, unit) == 0;
    }
    for (size_t i = 0; !call->matrices && i < bytes; i++) {
        unsigned char value = 0;
        for (uint32_t member = 0; member < sbgp->size; member++) {
            value = (unsigned char)(value +
                                    content(call->salt, member, 0, from + i));
        }
        same &= data[i] == value;
    }
    return same;
}

/** Buffers of this member, by kind. */
static void set_buffers(part_call_t *call)
{
    fixture_t *f = call->f;
    const ctn_sbgp_t *sbgp = &f->subgroup.sbgp;
    ctn_basic_t *basic = &call->basic;
    uint32_t me = sbgp->me;
    bool gathers = call->kind == CTN_ALLGATHER ||
                   (call->kind == CTN_GATHER && me == basic->root);
    bool all_in = call->kind == CTN_REDUCE_SCATTER ||
                  (call->kind == CTN_SCATTER && me == basic->root);
    bool in_place = fixture_pick(&f->own, 3) == 0;
    size_t whole = call->at[sbgp->size];
    size_t part = part_bytes(call, me);
    call->in = take(f, all_in ? whole : part);
    call->out = take(f, gathers ? whole : part);
    basic->in = call->in.data;
    basic->out = call->out.data;
    if (gathers && in_place) {
        basic->in = call->out.data + call->at[me];
    }
    if (call->kind == CTN_SCATTER && all_in && in_place) {
        basic->out = call->in.data + call->at[me];
    }
    if (call->kind == CTN_GATHER && !gathers) {
        basic->out = NULL;
    }
    if (call->kind == CTN_SCATTER && !all_in) {
        basic->in = NULL;
    }
}

static void fill_in(part_call_t *call)
{
    const ctn_sbgp_t *sbgp = &call->f->subgroup.sbgp;
    unsigned char *in = (unsigned char *)(uintptr_t)call->basic.in;
    if (call->kind == CTN_REDUCE_SCATTER) {
        fill_vector(call, sbgp->me, in);
    } else if (call->kind != CTN_SCATTER) {
        fill(call, sbgp->me, sbgp->me, in);
    } else if (sbgp->me == call->basic.root) {
        for (uint32_t to = 0; to < sbgp->size; to++) {
            fill(call, sbgp->me, to, in + call->at[to]);
        }
    }
}

void part_prepare(part_call_t *call, fixture_t *f, ctn_basic_kind_t kind,
                  const char *algorithm, uint32_t root, lengths_t lengths)
{
    const ctn_sbgp_t *sbgp = &f->subgroup.sbgp;
    *call = (part_call_t){.f = f, .kind = kind, .salt = job_random(&f->random)};
    call->matrices =
        kind == CTN_REDUCE_SCATTER && fixture_pick(&f->random, 2) == 0;
    draw_lengths(call, lengths);
    call->basic = (ctn_basic_t){.root = root,
                                .bytes = part_bytes(call, sbgp->me),
                                .at = call->at,
                                .algorithm = algorithm};
    call->basic.by = call->matrices ? (ctn_reducer_t){f->product, f->matrix}
                                    : (ctn_reducer_t){CATENA_SUM, CATENA_UINT8};
    if ((kind == CTN_GATHER || kind == CTN_SCATTER) && sbgp->me != root) {
        call->basic.at = NULL; /* counts at the root only */
    }
    set_buffers(call);
    fill_in(call);
}

/** Whether all parts of the whole are there. */
static bool is_gathered(const part_call_t *call, const unsigned char *whole)
{
    bool same = true;
    for (uint32_t from = 0; from < call->f->subgroup.sbgp.size; from++) {
        same &= is_filled(call, from, from, whole + call->at[from]);
    }
    return same;
}

void part_check_out(const part_call_t *call)
{
    const ctn_basic_t *basic = &call->basic;
    uint32_t me = call->f->subgroup.sbgp.me;
    job_t *job = call->f->job;
    switch (call->kind) {
    case CTN_SCATTER:
        JOB_CHECK(job, is_filled(call, basic->root, me, basic->out));
        break;
    case CTN_REDUCE_SCATTER:
        JOB_CHECK(job, is_reduced(call, basic->out));
        break;
    default: /* who gets nothing has written nothing */
        JOB_CHECK(job, basic->out != NULL
                           ? is_gathered(call, basic->out)
                           : holds_guard(call->out.data, call->out.bytes));
    }
}

static void check_in(const part_call_t *call)
{
    const ctn_basic_t *basic = &call->basic;
    uint32_t me = call->f->subgroup.sbgp.me;
    job_t *job = call->f->job;
    if (call->kind == CTN_REDUCE_SCATTER) {
        unsigned char *before = malloc(call->in.bytes + 1);
        fill_vector(call, me, before);
        JOB_CHECK(job, memcmp(basic->in, before, call->in.bytes) == 0);
        free(before);
    } else if (call->kind != CTN_SCATTER) {
        JOB_CHECK(job, is_filled(call, me, me, basic->in));
    } else if (me == basic->root) {
        for (uint32_t to = 0; to < call->f->subgroup.sbgp.size; to++) {
            JOB_CHECK(job,
                      is_filled(call, me, to, call->in.data + call->at[to]));
        }
    }
    JOB_CHECK(job,
              holds_guard(call->in.data + call->in.bytes, GUARD_BYTES) &&
                  holds_guard(call->out.data + call->out.bytes, GUARD_BYTES));
}

void part_drop(part_call_t *call)
{
    give(call->f, &call->in);
    give(call->f, &call->out);
    free(call->at);
}

void part_finish(part_call_t *call)
{
    part_check_out(call);
    check_in(call);
    part_drop(call);
}
