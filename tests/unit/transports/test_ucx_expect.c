#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "unit/unit.h"
#include "wire.h"

/* Posted receives: the data go where the target says instead of where the
 * sender does. Exposed memory: the sender says a place outside the arena. */

#define FROM ((size_t)8 << 20) /* source of puts */
#define AT ((size_t)1 << 20)   /* target of the sender */
#define WORD 1024u
/* time after which another rank has received what was sent */
#define LINGER_NS UINT64_C(200000000)
#define BYTES ((size_t)16384)

static const uint64_t *word_of(const rank_t *r, uint64_t offset)
{
    return (const void *)(r->arena + offset);
}

static void handler(void *context, const void *data, size_t bytes)
{
    memcpy(context, data, bytes);
}

static bool post_receive(rank_t *r, uint64_t value, unsigned char *aside)
{
    return r->transport->ops->post_receive(r->transport, word_of(r, WORD),
                                           value, BYTES, handler, aside);
}

/** Put data of seed `value` to offset `at` of the right neighbor, wait for the
 * left one's. */
static void put_right_at(rank_t *r, size_t bytes, uint64_t value, uint64_t at)
{
    ctn_endpoint_t *right = connect_to(r, (r->rank + 1) % r->size);
    uint64_t pending = 0;

    meet(r); /* all ranks have posted their receives */
    fill(r->arena + FROM, bytes, value);
    NEED(r->transport->ops->put_signal(right, r->arena + FROM, bytes, at, WORD,
                                       value, &pending) == CATENA_OK);
    wait_pending(r, &pending);
    wait_word(r, WORD, value);
}

static void put_right(rank_t *r, size_t bytes, uint64_t value)
{
    put_right_at(r, bytes, value, AT);
}

/** The data of each posted receive, and no other data, go aside. */
static void body_posted(rank_t *r)
{
    unsigned char *aside = calloc(1, BYTES);
    bool by_put =
        r->mode == CTN_PUT_RMA || (r->transport->caps & CTN_CAP_RDMA) != 0;

    for (uint64_t value = 1; value <= 3; value++) {
        fill(r->arena + AT, BYTES, 99);
        bool posted = post_receive(r, value, aside);
        /* put, fence, put ignores posted receives */
        NEED(posted != by_put);
        put_right(r, BYTES, value);
        NEED(filled(posted ? aside : r->arena + AT, BYTES, value));
        NEED(!posted || filled(r->arena + AT, BYTES, 99));
    }
    put_right(r, BYTES, 4); /* no receive is posted any more */
    NEED(filled(r->arena + AT, BYTES, 4));
    free(aside);
    meet(r);
}

/** Another value, another length, a cancelled receive: no data go aside. */
static void body_other(rank_t *r)
{
    const ctn_transport_ops_t *ops = r->transport->ops;
    unsigned char *aside = malloc(BYTES);

    fill(aside, BYTES, 7);
    NEED(post_receive(r, 2, aside));
    NEED(!post_receive(r, 3, aside)); /* one per word */
    put_right(r, BYTES, 1);
    NEED(filled(r->arena + AT, BYTES, 1) && filled(aside, BYTES, 7));
    put_right(r, BYTES / 2, 2); /* does not match, and ends it */
    NEED(filled(r->arena + AT, BYTES / 2, 2) && filled(aside, BYTES, 7));
    NEED(post_receive(r, 3, aside));
    ops->cancel_receive(r->transport, word_of(r, WORD + 128));
    NEED(!post_receive(r, 3, aside));
    ops->cancel_receive(r->transport, word_of(r, WORD));
    put_right(r, BYTES, 3);
    NEED(filled(r->arena + AT, BYTES, 3) && filled(aside, BYTES, 7));
    free(aside);
    meet(r);
}

enum { EXPOSED_BYTES = 3 << 20, EDGE = 64, REGIONS = 100, PUTS = 9 };

/** Ranks expose the same number of regions, so their offsets are the same. */
static bool expose(rank_t *r, unsigned char *memory, size_t bytes,
                   uint64_t *offset)
{
    return r->transport->ops->expose(r->transport, memory, bytes, offset);
}

/** Data longer than a message, at both ends and in the middle of a region. */
static void body_exposed(rank_t *r)
{
    const ctn_transport_ops_t *ops = r->transport->ops;
    bool by_put =
        r->mode == CTN_PUT_RMA || (r->transport->caps & CTN_CAP_RDMA) != 0;
    unsigned char *memory = malloc(EXPOSED_BYTES);
    unsigned char *edge = memory + EXPOSED_BYTES - EDGE;
    uint64_t offset = 0;
    uint64_t other;

    fill(memory, EDGE, 5);
    fill(edge, EDGE, 6);
    NEED(expose(r, memory, EXPOSED_BYTES, &offset) != by_put);
    if (!by_put) {
        NEED(offset < UINT64_C(1) << 48);
        NEED(expose(r, r->arena, 1, &other) && other != offset);
        put_right_at(r, EXPOSED_BYTES - 2 * EDGE, 1, offset + EDGE);
        NEED(filled(memory + EDGE, EXPOSED_BYTES - 2 * EDGE, 1));
        NEED(filled(memory, EDGE, 5) && filled(edge, EDGE, 6));
        put_right_at(r, EDGE, 2, offset);
        put_right_at(r, EDGE, 3, offset + EXPOSED_BYTES - EDGE);
        NEED(filled(memory, EDGE, 2) && filled(edge, EDGE, 3));
        ops->conceal(r->transport, offset, true);
        put_right_at(r, EDGE, 5, offset);
        NEED(filled(memory, EDGE, 2));
    }
    free(memory);
    meet(r);
}

/** Numbers of concealed regions are used again, unless puts may come. */
static void body_regions(rank_t *r)
{
    const ctn_transport_ops_t *ops = r->transport->ops;
    unsigned char *memory = malloc(REGIONS * EDGE);
    uint64_t offset[REGIONS];
    uint64_t taken = 0;
    uint64_t more;
    size_t all = 0;

    for (size_t i = 0; i < REGIONS; i++) {
        NEED(expose(r, memory + i * EDGE, EDGE, &offset[i]));
    }
    for (size_t i = 0; i < PUTS; i++) {
        put_right_at(r, EDGE, i + 1, offset[i * 10 + 7]);
    }
    for (size_t i = 0; i < PUTS; i++) {
        NEED(filled(memory + (i * 10 + 7) * EDGE, EDGE, i + 1));
    }
    NEED(!expose(r, memory, 0, &more));
    NEED(!expose(r, memory, SIZE_MAX, &more));
    ops->conceal(r->transport, offset[7], true);
    while (expose(r, memory, EDGE, &more)) {
        NEED(more != offset[7]);
        taken = more;
        all++;
    }
    NEED(all > REGIONS);
    ops->conceal(r->transport, taken, false);
    NEED(expose(r, memory, EDGE, &more) && more == taken);
    free(memory);
    meet(r);
}

/** A put that exceeds exposed memory is refused, and nothing of it stored. */
static void body_beyond(rank_t *r)
{
    const ctn_transport_ops_t *ops = r->transport->ops;
    uint64_t end = ctn_clock_now_ns() + DEADLINE_NS;
    unsigned char *memory = malloc(2 * EDGE);
    uint64_t pending = 0;
    uint64_t offset;
    int progress = 0;

    r->log.level = CATENA_LOG_FATAL;
    fill(memory, 2 * EDGE, 1);
    NEED(expose(r, memory, EDGE, &offset));
    meet(r);
    if (r->rank == 0) {
        fill(r->arena + FROM, EDGE, 2);
        NEED(ops->put_signal(connect_to(r, 1), r->arena + FROM, EDGE,
                             offset + 1, WORD, 1, &pending) == CATENA_OK);
        for (end = ctn_clock_now_ns() + LINGER_NS; ctn_clock_now_ns() < end;) {
            (void)ops->progress(r->transport);
            sched_yield();
        }
    } else {
        while (progress >= 0) {
            NEED(ctn_clock_now_ns() < end);
            sched_yield();
            progress = ops->progress(r->transport);
        }
        NEED(progress == CATENA_ERR_TRANSPORT);
        NEED(ctn_word_load(word_of(r, WORD)) == 0);
    }
    NEED(filled(memory, 2 * EDGE, 1));
    free(memory);
}

START_TEST(test_beyond)
{
    run_ranks(2, 0, ARENA_BYTES, -1, body_beyond);
}
END_TEST

START_TEST(test_exposed)
{
    run_ranks(2, _i, ARENA_BYTES, -1, body_exposed);
}
END_TEST

START_TEST(test_regions)
{
    run_ranks(2, 0, ARENA_BYTES, -1, body_regions);
}
END_TEST

START_TEST(test_posted)
{
    run_ranks(2, _i, ARENA_BYTES, -1, body_posted);
}
END_TEST

START_TEST(test_other)
{
    run_ranks(3, 0, ARENA_BYTES, -1, body_other);
}
END_TEST

static void add_cases(TCase *tcase)
{
    tcase_add_loop_test(tcase, test_posted, 0, VARIANTS);
    tcase_add_test(tcase, test_other);
    tcase_add_loop_test(tcase, test_exposed, 0, VARIANTS);
    tcase_add_test(tcase, test_regions);
    tcase_add_test(tcase, test_beyond);
}

UNIT_TEST(ucx_expect)
{
    return unit_main("ucx_expect", 60, add_cases);
}
